/* An engine in C: y = a * x on the interpreter and, through the compiler, on the PTX emulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tarsia/tarsia.h>

static const char kText[] =
    "kernel scale(%x: ptr<f32>, %y: ptr<f32>, %n: i32, %a: f32)\n"
    "  const B: int = 64\n"
    "  grid (ceildiv(%n, B))\n"
    "{\n"
    "  %b = block.x\n"
    "  %gx = view %x : global<f32>[%n]\n"
    "  %t = load %gx[%b * B] : [B]\n"
    "  %s = mul %t, %a\n"
    "  %gy = view %y : global<f32>[%n]\n"
    "  store %gy[%b * B], %s\n"
    "}\n";

static void must(tarsia_status status) {
  if (status == TARSIA_STATUS_OK) return;
  fprintf(stderr, "%s: %s\n", tarsia_status_name(status), tarsia_last_error());
  exit(1);
}

static float last_of(const tarsia_module* module, const char* name) {
  float x[100];
  float y[100];
  for (int i = 0; i < 100; ++i) x[i] = (float)i;
  tarsia_device* device = NULL;
  tarsia_plan* plan = NULL;
  void* gx = NULL;
  void* gy = NULL;
  const tarsia_plan_options options = {.size = sizeof options, .device = name};
  must(tarsia_device_open(name, &device));
  must(tarsia_plan_create(module, &options, &plan, NULL));
  must(tarsia_memory_alloc(device, sizeof x, &gx));
  must(tarsia_memory_alloc(device, sizeof y, &gy));
  must(tarsia_memory_write(device, gx, x, sizeof x, NULL));
  const tarsia_arg args[] = {tarsia_arg_const_pointer(gx, sizeof x),
                             tarsia_arg_pointer(gy, sizeof y), tarsia_arg_i32(100),
                             tarsia_arg_f32(0.5f)};
  must(tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  must(tarsia_memory_read(device, y, gy, sizeof y, NULL));
  must(tarsia_memory_free(device, gx));
  must(tarsia_memory_free(device, gy));
  tarsia_plan_destroy(plan);
  tarsia_device_close(device);
  return y[99];
}

int main(void) {
  tarsia_module* module = NULL;
  must(tarsia_module_create(kText, strlen(kText), NULL, &module, NULL));
  printf("%s cpu %g ptx %g\n", tarsia_version(), (double)last_of(module, "cpu"),
         (double)last_of(module, "ptx"));
  tarsia_module_destroy(module);
  return 0;
}
