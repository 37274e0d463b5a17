/* Saves what loader_test loads: a plan, and a layer and its weights: loader_make PLAN LAYER
 * WEIGHTS. */
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

static void SavePlan(const char* path) {
  tarsia_module* const module = Module(kText);
  SIZED(tarsia_plan_options, options);
  options.device = "cuda";
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, &options, &plan, NULL));
  CHECK_OK(tarsia_plan_save_file(plan, path));
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
}

/* Rows of w[64, 32] are k % 15 - 7 in every column. */
static void SaveLayer(const char* path, const char* weights_path) {
  static float w[64 * 32];
  for (int i = 0; i < 64 * 32; ++i) w[i] = (float)(i / 32 % 15 - 7);
  SIZED(tarsia_quantise_options, quantise);
  quantise.type = TARSIA_DTYPE_I4;
  quantise.compute = TARSIA_DTYPE_F16;
  quantise.group = 64;
  quantise.scale_type = TARSIA_DTYPE_F16;
  tarsia_weights* weights = NULL;
  CHECK_OK(
      tarsia_weights_quantise(w, sizeof w, TARSIA_DTYPE_F32, 64, 32, false, &quantise, &weights));
  CHECK_OK(tarsia_weights_save(weights, weights_path));
  SIZED(tarsia_matmul, layer);
  CHECK_OK(tarsia_matmul_describe(weights, &layer));
  layer.m_max = 20;
  layer.y_type = TARSIA_DTYPE_F32;
  SIZED(tarsia_matmul_options, options);
  options.device = "cuda";
  tarsia_matmul_plan* plan = NULL;
  CHECK_OK(tarsia_matmul_plan_create(&layer, &options, &plan));
  CHECK_OK(tarsia_matmul_plan_save_file(plan, path));
  tarsia_matmul_plan_destroy(plan);
  tarsia_weights_destroy(weights);
}

int main(int argc, char** argv) {
  CHECK(argc == 4);
  if (argc != 4) return 1;
  SavePlan(argv[1]);
  SaveLayer(argv[2], argv[3]);
  return failures == 0 ? 0 : 1;
}
