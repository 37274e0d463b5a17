/* One layer of a network becomes a product of packed weights, as docs/capi.md says: quantised,
 * saved, loaded, planned, executed with a workspace, and compared with a formula. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tarsia/tarsia.h"
#include "tests/capi/check.h"

/* Columns and rows that are multiples of nothing; so many rows of w that blocks share a column of
 * y, which needs a workspace. */
enum { kIn = 2048, kHidden = 70, kRows = 13, kMost = 16, kGroup = 64 };

static float w[kHidden][kIn], bias[kHidden], back[kIn * kHidden]; /* as frameworks store them */
static float x[kRows][kIn], rounded[kRows][kIn], y[kRows][kHidden];
static uint16_t x16[kRows][kIn];

static float Random(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static void MakeNetwork(void) {
  for (int o = 0; o < kHidden; ++o) {
    bias[o] = Random();
    for (int k = 0; k < kIn; ++k) w[o][k] = Random() / 32;
  }
  for (int i = 0; i < kRows; ++i) {
    for (int k = 0; k < kIn; ++k) x[i][k] = Random();
  }
  CHECK_OK(tarsia_dtype_cast(TARSIA_DTYPE_F32, x, TARSIA_DTYPE_F16, x16, kRows * kIn));
  CHECK_OK(tarsia_dtype_cast(TARSIA_DTYPE_F16, x16, TARSIA_DTYPE_F32, rounded, kRows * kIn));
}

static tarsia_status Quantise(int64_t group, tarsia_zero_point zero, tarsia_weights** out) {
  const tarsia_quantise_options options = {.size = sizeof options,
                                           .type = TARSIA_DTYPE_U4,
                                           .compute = TARSIA_DTYPE_F16,
                                           .group = group,
                                           .scale_type = TARSIA_DTYPE_F16,
                                           .zero = zero};
  return tarsia_weights_quantise(w, sizeof w, TARSIA_DTYPE_F32, kIn, kHidden, true, &options, out);
}

/* The weights, after a way through a file. */
static tarsia_weights* MakeWeights(const char* path) {
  tarsia_weights *first = NULL, *out = NULL;
  CHECK_INVALID("does not divide K = 2048", Quantise(96, TARSIA_ZERO_POINT_INTEGER, &first));
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "use a signed type or zero points",
              Quantise(kGroup, TARSIA_ZERO_POINT_NONE, &first));
  CHECK_OK(Quantise(kGroup, TARSIA_ZERO_POINT_INTEGER, &first));
  CHECK_OK(tarsia_weights_save(first, path));
  tarsia_weights_destroy(first);
  CHECK_OK(tarsia_weights_load(path, &out));
  CHECK_OK(tarsia_weights_dequantise(out, back, kIn * kHidden));
  return out;
}

static tarsia_matmul Describe(const tarsia_weights* weights) {
  SIZED(tarsia_matmul, layer);
  CHECK_OK(tarsia_matmul_describe(weights, &layer));
  layer.m_min = 0;
  layer.m_max = kMost;
  layer.bias_type = TARSIA_DTYPE_F32;
  layer.y_type = TARSIA_DTYPE_F32;
  layer.activation = TARSIA_ACTIVATION_RELU;
  return layer;
}

static void* OnDevice(tarsia_device* device, const void* data, uint64_t bytes) {
  void* out = NULL;
  CHECK_OK(tarsia_memory_alloc(device, bytes, &out));
  if (data != NULL) CHECK_OK(tarsia_memory_write(device, out, data, bytes, NULL));
  return out;
}

#define RUN_INVALID(text, change)                                  \
  do {                                                             \
    tarsia_matmul_args args = *right;                              \
    change;                                                        \
    CHECK_INVALID(text, tarsia_matmul_execute(plan, &args, NULL)); \
  } while (0)

static const void* Behind(const void* at, int bytes) { return (const char*)at + bytes; }

/* What layer_test does not try: addresses, the bias, a workspace. */
static void TestWrongArguments(const tarsia_matmul_plan* plan, const tarsia_matmul_args* right) {
  RUN_INVALID("x has 17 rows, and the plan is for 0 to 16", args.m = 17);
  RUN_INVALID("m_min and m_max of the layer", args.m = -1);
  RUN_INVALID("which is not a multiple of 16 bytes", args.x = Behind(args.x, 2));
  RUN_INVALID("`weights` is at ", args.weights = Behind(args.weights, 8));
  RUN_INVALID("`bias` has 0 bytes, and 280 are needed", (args.bias = NULL, args.bias_bytes = 0));
  RUN_INVALID("`bias` is at ", args.bias = Behind(args.bias, 4));
  RUN_INVALID("`y` is at ", args.y = (char*)args.y + 4);
  if (right->workspace_bytes == 0) return;
  RUN_INVALID("tarsia_matmul_plan_get gives the size", args.workspace = NULL);
  RUN_INVALID("the workspace has 1 bytes", args.workspace_bytes = 1);
  RUN_INVALID("`workspace` is at ", args.workspace = (char*)args.workspace + 8);
  CHECK_INVALID("the workspace has 0 bytes",
                tarsia_matmul_workspace_init(plan, NULL, right->workspace_bytes, NULL));
}

/* y of the formula, with the weights as they are packed, by the bound of a sum in f32. */
static void CompareRows(void) {
  const double roundings = (4 * sqrt(kIn) + 8) * ldexp(1, -23);
  double size = 0;
  for (int i = 0; i < kRows; ++i) {
    for (int n = 0; n < kHidden; ++n) {
      double sum = (double)bias[n], terms = fabs(sum);
      for (int k = 0; k < kIn; ++k) {
        const double weight = (double)back[k * kHidden + n];
        sum += (double)rounded[i][k] * weight;
        /* A weight is the difference of two products, of a code and a zero point with the scale. */
        terms += fabs((double)rounded[i][k]) * (fabs(weight) + 1.0 / 16);
      }
      const double wanted = sum > 0 ? sum : 0;
      size += wanted;
      CHECK(fabs((double)y[i][n] - wanted) <= roundings * terms);
    }
  }
  CHECK(size > kRows * kHidden / 16.0); /* not all zero */
}

static void TestProduct(tarsia_device* device, const tarsia_matmul_plan* plan,
                        const tarsia_weights* weights) {
  SIZED(tarsia_matmul_plan_info, info);
  CHECK_OK(tarsia_matmul_plan_get(plan, &info));
  CHECK(strcmp(info.layout_id, "u4-f16-v2") == 0);
  CHECK((info.workspace_bytes > 0) == (strcmp(info.device, "cpu") != 0));
  SIZED(tarsia_matmul_args, args);
  const void* image = NULL;
  CHECK_OK(tarsia_weights_image(weights, &image, &args.weights_bytes));
  CHECK(args.weights_bytes == info.weight_bytes);
  args.m = kRows;
  args.x = OnDevice(device, x16, args.x_bytes = sizeof x16);
  args.weights = OnDevice(device, image, args.weights_bytes);
  args.bias = OnDevice(device, bias, args.bias_bytes = sizeof bias);
  memset(y, 0xFF, sizeof y);
  args.y = OnDevice(device, y, args.y_bytes = sizeof y);
  args.workspace = OnDevice(device, NULL, args.workspace_bytes = info.workspace_bytes);
  CHECK_OK(tarsia_matmul_workspace_init(plan, args.workspace, args.workspace_bytes, NULL));

  TestWrongArguments(plan, &args);
  args.m = 0; /* writes nothing */
  CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
  args.m = kRows;
  for (int turn = 0; turn < 2; ++turn) { /* the first leaves the workspace prepared */
    CHECK_OK(tarsia_memory_fill(device, args.y, 0xFF, sizeof y, NULL));
    CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
    CHECK_OK(tarsia_memory_read(device, y, args.y, sizeof y, NULL));
    CompareRows();
  }
  void* const all[] = {(void*)args.x, (void*)args.weights, (void*)args.bias, args.y,
                       args.workspace};
  for (int i = 0; i < 5; ++i) CHECK_OK(tarsia_memory_free(device, all[i]));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char path[64];
  snprintf(path, sizeof path, "network_test.%s.tsw", argv[1]);
  MakeNetwork();
  tarsia_weights* const weights = MakeWeights(path);
  const tarsia_matmul layer = Describe(weights);

  tarsia_device* device = NULL;
  CHECK_OK(tarsia_device_open(argv[1], &device));
  const tarsia_matmul_options options = {.size = sizeof options,
                                         .device = tarsia_device_name(device)};
  tarsia_matmul_plan* plan = NULL;
  CHECK_OK(tarsia_matmul_plan_create(&layer, &options, &plan));
  TestProduct(device, plan, weights);

  tarsia_matmul_plan_destroy(plan);
  tarsia_weights_destroy(weights);
  tarsia_device_close(device);
  remove(path);
  printf("%d failures\n", failures);
  return failures != 0;
}
