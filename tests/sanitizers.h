// Whether the tests are built with a sanitizer, for gcc and clang.
#ifndef TARSIA_TESTS_SANITIZERS_H_
#define TARSIA_TESTS_SANITIZERS_H_

#ifndef __has_feature  // gcc
#define __has_feature(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TARSIA_THREAD_SANITIZER 1
#else
#define TARSIA_THREAD_SANITIZER 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define TARSIA_ADDRESS_SANITIZER 1
#else
#define TARSIA_ADDRESS_SANITIZER 0
#endif

#endif  // TARSIA_TESTS_SANITIZERS_H_
