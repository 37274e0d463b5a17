/* Loads the plan of save.c and executes it: load FILE. */
#include <stdio.h>
#include <stdlib.h>
#include <tarsia/tarsia.h>

static void must(tarsia_status status) {
  if (status == TARSIA_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", tarsia_status_name(status), tarsia_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  int x[4] = {1, 2, 3, 4};
  int y[4];
  tarsia_device* device = NULL;
  tarsia_plan* plan = NULL;
  void* gx = NULL;
  void* gy = NULL;
  must(tarsia_device_open("ptx", &device));
  must(tarsia_plan_load_file(device, argc > 1 ? argv[1] : "twice.plan", &plan));
  must(tarsia_memory_alloc(device, sizeof x, &gx));
  must(tarsia_memory_alloc(device, sizeof y, &gy));
  must(tarsia_memory_write(device, gx, x, sizeof x, NULL));
  const tarsia_arg args[] = {tarsia_arg_const_pointer(gx, sizeof x),
                             tarsia_arg_pointer(gy, sizeof y)};
  must(tarsia_execute(plan, args, 2, NULL, NULL, NULL, NULL));
  must(tarsia_memory_read(device, y, gy, sizeof y, NULL));
  printf("%d %d %d %d\n", y[0], y[1], y[2], y[3]);
  must(tarsia_memory_free(device, gx));
  must(tarsia_memory_free(device, gy));
  tarsia_plan_destroy(plan);
  tarsia_device_close(device);
  return 0;
}
