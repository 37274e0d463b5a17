/* What the C programs of this folder share: checks that count failures, and modules from text. */
#ifndef TARSIA_TESTS_CAPI_CHECK_H_
#define TARSIA_TESTS_CAPI_CHECK_H_

#include <stdio.h>
#include <string.h>

#include "tarsia/tarsia.h"

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      ++failures;                                                             \
      printf("%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
             tarsia_last_error());                                            \
    }                                                                         \
  } while (0)
#define CHECK_OK(call) CHECK((call) == TARSIA_STATUS_OK)
/* The call fails with the status, and the last error has the text in it. */
#define CHECK_FAILS(status, text, call)                 \
  do {                                                  \
    CHECK((call) == (status));                          \
    CHECK(strstr(tarsia_last_error(), (text)) != NULL); \
  } while (0)
#define CHECK_INVALID(text, call) CHECK_FAILS(TARSIA_STATUS_INVALID_ARGUMENT, text, call)
#define SIZED(type, name) type name = {.size = sizeof(type)}

#ifndef CHECK_WITHOUT_MODULES /* libtarsia_loader has none */
static inline tarsia_module* Module(const char* text) {
  tarsia_module* module = NULL;
  SIZED(tarsia_module_options, options);
  options.name = "test.tsa";
  CHECK_OK(tarsia_module_create(text, strlen(text), &options, &module, NULL));
  return module;
}
#endif

#endif /* TARSIA_TESTS_CAPI_CHECK_H_ */
