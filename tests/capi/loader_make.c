/* Saves the plan that loader_test loads: loader_make FILE. */
#include "tests/capi/check.h"

static const char kText[] =
    "kernel scale(%x: ptr<f32>, %y: ptr<f32>, %n: i32, %a: f32)\n"
    "  const B: int = 32\n"
    "  assume %n % 2 == 0\n"
    "  grid (ceildiv(%n, B))\n"
    "  warps 1\n"
    "{\n"
    "  %b = block.x\n"
    "  %gx = view %x : global<f32>[%n]\n"
    "  %keep = alloc.global zeroed : f32 [%n + B]\n"
    "  %t = load %gx[%b * B] : [B]\n"
    "  %s = mul %t, %a\n"
    "  red.add %keep[%b * B], %s\n"
    "  sync\n"
    "  %u = load %keep[%b * B] : [B]\n"
    "  %z = fill 0.0 : f32 [B]\n"
    "  sync\n"
    "  store %keep[%b * B], %z\n"
    "  %gy = view %y : global<f32>[%n]\n"
    "  store %gy[%b * B], %u\n"
    "}\n";

int main(int argc, char** argv) {
  tarsia_module* const module = Module(kText);
  SIZED(tarsia_plan_options, options);
  options.device = "cuda";
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, &options, &plan, NULL));
  CHECK(argc == 2);
  if (argc == 2) CHECK_OK(tarsia_plan_save_file(plan, argv[1]));
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
  return failures == 0 ? 0 : 1;
}
