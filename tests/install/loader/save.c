/* Saves a plan: save FILE. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tarsia/tarsia.h>

static const char kText[] =
    "kernel twice(%x: ptr<i32>, %y: ptr<i32>)\n"
    "{\n"
    "  %gx = view %x : global<i32>[4]\n"
    "  %t = load %gx[0] : [4]\n"
    "  %s = add %t, %t\n"
    "  %gy = view %y : global<i32>[4]\n"
    "  store %gy[0], %s\n"
    "}\n";

static void must(tarsia_status status) {
  if (status == TARSIA_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", tarsia_status_name(status), tarsia_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  tarsia_module* module = NULL;
  tarsia_plan* plan = NULL;
  const tarsia_plan_options options = {.size = sizeof options, .device = "ptx"};
  must(tarsia_module_create(kText, strlen(kText), NULL, &module, NULL));
  must(tarsia_plan_create(module, &options, &plan, NULL));
  must(tarsia_plan_save_file(plan, argc > 1 ? argv[1] : "twice.plan"));
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
  return 0;
}
