/* A client of the C API whose activations have 8 bits: row_scales_test DEVICE TYPE. Expected values
 * come from the formula, and every argument of the rows' scales is wrong once. Prints what fails;
 * exits with 1 then. */
#include <stddef.h>
#include <stdint.h>

#include "tarsia/tarsia.h"
#include "tests/capi/memory.h"

enum { kM = 5, kK = 128, kN = 48, kGroup = 64 };

static tarsia_device* device;
static uint8_t codes[kK * kN]; /* of u3 */
static float scales[kK / kGroup * kN], zeros[kK / kGroup * kN];
static uint8_t x[kM * kK]; /* 0, 1 and 2 */
static float row_scales[kM];

static float Weight(int k, int column) {
  const int at = k / kGroup * kN + column;
  return ((float)codes[k * kN + column] - zeros[at]) * scales[at];
}

/* Small integers and powers of two: every sum is exact in f32. */
static tarsia_weights* Weights(tarsia_dtype compute) {
  for (int i = 0; i < kK * kN; ++i) codes[i] = (uint8_t)((i / kN + 3 * (i % kN)) % 8);
  for (int i = 0; i < kK / kGroup * kN; ++i) {
    scales[i] = i % 2 == 0 ? 0.5F : 0.125F;
    zeros[i] = (float)(i % 5);
  }
  for (int i = 0; i < kM; ++i) row_scales[i] = (float)(1 << i) / 4;
  SIZED(tarsia_codes, from);
  from.type = TARSIA_DTYPE_U3;
  from.compute = compute;
  from.k = kK;
  from.n = kN;
  from.group = kGroup;
  from.scale_type = TARSIA_DTYPE_F16;
  from.zero = TARSIA_ZERO_POINT_INTEGER;
  from.codes = codes;
  from.code_count = kK * kN;
  from.scales = scales;
  from.zeros = zeros;
  from.scale_count = from.zero_count = kK / kGroup * kN;
  tarsia_weights* out = NULL;
  CHECK_OK(tarsia_weights_pack(&from, &out));
  return out;
}

static tarsia_matmul_plan* Plan(const tarsia_weights* weights, const char* device_name) {
  SIZED(tarsia_matmul, layer);
  CHECK_OK(tarsia_matmul_describe(weights, &layer));
  layer.m_min = 0;
  layer.m_max = 20;
  layer.y_type = TARSIA_DTYPE_F32;
  SIZED(tarsia_matmul_options, options);
  options.device = device_name;
  tarsia_matmul_plan* plan = NULL;
  CHECK_OK(tarsia_matmul_plan_create(&layer, &options, &plan));
  layer.codebook = true;
  layer.zero = TARSIA_ZERO_POINT_NONE;
  tarsia_matmul_plan* none = NULL;
  CHECK_FAILS(TARSIA_STATUS_UNSUPPORTED, "codebook",
              tarsia_matmul_plan_create(&layer, &options, &none));
  return plan;
}

static void ExpectProduct(const tarsia_matmul_args* args) {
  static float y[kM * kN];
  CHECK_OK(tarsia_memory_read(device, y, args->y, sizeof y, NULL));
  int wrong = 0;
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column) {
      float wanted = 0;
      for (int k = 0; k < kK; ++k) wanted += (float)((row + k) % 3) * Weight(k, column);
      if (y[row * kN + column] != wanted * row_scales[row]) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

static tarsia_matmul_args Arguments(const tarsia_matmul_plan* plan, const tarsia_weights* weights,
                                    tarsia_dtype compute) {
  static float y[kM * kN];
  static float values[kM * kK];
  for (int i = 0; i < kM * kK; ++i) values[i] = (float)((i / kK + i % kK) % 3);
  CHECK_OK(tarsia_dtype_cast(TARSIA_DTYPE_F32, values, compute, x, kM * kK));
  for (int i = 0; i < kM * kN; ++i) y[i] = -1;
  SIZED(tarsia_matmul_args, args);
  const void* image = NULL;
  CHECK_OK(tarsia_weights_image(weights, &image, &args.weights_bytes));
  SIZED(tarsia_matmul_plan_info, info);
  CHECK_OK(tarsia_matmul_plan_get(plan, &info));
  args.m = kM;
  args.x = Upload(device, x, args.x_bytes = sizeof x);
  args.row_scales = Upload(device, row_scales, args.row_scales_bytes = sizeof row_scales);
  args.weights = Upload(device, image, args.weights_bytes);
  args.y = Upload(device, y, args.y_bytes = sizeof y);
  args.workspace_bytes = info.workspace_bytes;
  CHECK_OK(tarsia_memory_alloc(device, args.workspace_bytes, &args.workspace));
  CHECK_OK(tarsia_matmul_workspace_init(plan, args.workspace, args.workspace_bytes, NULL));
  return args;
}

static void TestWrongArguments(const tarsia_matmul_plan* plan, const tarsia_matmul_args* args) {
#define WITH(field, value, text)                                   \
  do {                                                             \
    tarsia_matmul_args with = *args;                               \
    with.field = (value);                                          \
    CHECK_INVALID(text, tarsia_matmul_execute(plan, &with, NULL)); \
  } while (0)
  WITH(row_scales, NULL, "row_scales");
  WITH(row_scales, args->row_scales + 1, "multiple of 16");
  WITH(row_scales_bytes, args->row_scales_bytes - 1, "`row_scales` has");
  WITH(x_bytes, args->x_bytes - 1, "`x` has");
  /* A caller that does not know of the scales. */
  WITH(size, offsetof(tarsia_matmul_args, row_scales), "`row_scales` has 0 bytes");
#undef WITH
}

static void TestBytes(const tarsia_matmul_plan* plan, const tarsia_matmul_args* args) {
  tarsia_blob* bytes = NULL;
  tarsia_matmul_plan* loaded = NULL;
  CHECK_OK(tarsia_matmul_plan_save(plan, &bytes));
  CHECK_OK(
      tarsia_matmul_plan_load(device, tarsia_blob_data(bytes), tarsia_blob_size(bytes), &loaded));
  CHECK_OK(tarsia_memory_fill(device, args->y, 0xFF, args->y_bytes, NULL));
  CHECK_OK(tarsia_matmul_execute(loaded, args, NULL));
  ExpectProduct(args);
  tarsia_matmul_plan_destroy(loaded);
  tarsia_blob_destroy(bytes);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  if (argc != 3) return 1;
  CHECK_OK(tarsia_device_open(argv[1], &device));
  if (device == NULL) return 1;
  tarsia_dtype compute = TARSIA_DTYPE_NONE;
  CHECK_OK(tarsia_dtype_find(argv[2], &compute));
  tarsia_weights* weights = Weights(compute);
  tarsia_matmul_plan* plan = Plan(weights, argv[1]);
  if (plan == NULL) return 1;
  const tarsia_matmul_args args = Arguments(plan, weights, compute);
  CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
  ExpectProduct(&args);
  TestBytes(plan, &args);
  TestWrongArguments(plan, &args);
  void* const all[] = {(void*)(uintptr_t)args.x, (void*)(uintptr_t)args.row_scales,
                       (void*)(uintptr_t)args.weights, args.y, args.workspace};
  for (int i = 0; i < 5; ++i) CHECK_OK(tarsia_memory_free(device, all[i]));
  tarsia_matmul_plan_destroy(plan);
  tarsia_weights_destroy(weights);
  tarsia_device_close(device);
  return failures == 0 ? 0 : 1;
}
