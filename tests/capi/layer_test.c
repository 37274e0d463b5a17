/* A client of the C API that multiplies by packed weights: layer_test DEVICE. Plans are described,
 * made, saved, loaded and executed, and every argument is wrong once. Expected values come from the
 * formula. Prints what fails; exits with 1 then. */
#include <stdint.h>
#include <stdlib.h>

#include "tarsia/tarsia.h"
#include "tests/capi/memory.h"

enum { kM = 5, kK = 128, kN = 96, kGroup = 64, kHalf = kN / 2 };

static const char* device_name;
static bool is_cpu;
static tarsia_device* device;
static float w[kK * kN];
static uint16_t x[kM * kK]; /* f16 */
static float x_value[kM * kK];

/* Weights that i4 with a scale of 1/8 holds, and x in { 0, 1, 2 }: every sum is exact in f32. */
static tarsia_weights* Weights(void) {
  for (int i = 0; i < kK * kN; ++i) w[i] = (float)((i / kN + i % kN) % 15 - 7) / 8;
  for (int i = 0; i < kM * kK; ++i) {
    static const uint16_t codes[3] = {0, 0x3C00, 0x4000};
    x[i] = codes[i * 5 % 3];
    x_value[i] = (float)(i * 5 % 3);
  }
  SIZED(tarsia_quantise_options, options);
  options.type = TARSIA_DTYPE_I4;
  options.compute = TARSIA_DTYPE_F16;
  options.group = kGroup;
  options.scale_type = TARSIA_DTYPE_F16;
  tarsia_weights* out = NULL;
  CHECK_OK(tarsia_weights_quantise(w, sizeof w, TARSIA_DTYPE_F32, kK, kN, false, &options, &out));
  return out;
}

static tarsia_matmul Layer(const tarsia_weights* weights) {
  SIZED(tarsia_matmul, layer);
  CHECK_OK(tarsia_matmul_describe(weights, &layer));
  layer.m_min = 0;
  layer.m_max = 40;
  layer.y_type = TARSIA_DTYPE_F32;
  return layer;
}

static tarsia_matmul_options Options(void) {
  SIZED(tarsia_matmul_options, options);
  options.device = device_name;
  return options;
}

static tarsia_matmul_plan* Plan(const tarsia_matmul* layer) {
  const tarsia_matmul_options options = Options();
  tarsia_matmul_plan* plan = NULL;
  CHECK_OK(tarsia_matmul_plan_create(layer, &options, &plan));
  return plan;
}

static tarsia_matmul_plan_info InfoOf(const tarsia_matmul_plan* plan) {
  SIZED(tarsia_matmul_plan_info, info);
  CHECK_OK(tarsia_matmul_plan_get(plan, &info));
  return info;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The arguments of a plan for kM rows, in memory of the device. */
static tarsia_matmul_args Arguments(const tarsia_matmul_plan* plan, const tarsia_weights* weights) {
  SIZED(tarsia_matmul_args, args);
  const void* image = NULL;
  CHECK_OK(tarsia_weights_image(weights, &image, &args.weights_bytes));
  args.m = kM;
  args.x = Upload(device, x, sizeof x);
  args.x_bytes = sizeof x;
  args.weights = Upload(device, image, args.weights_bytes);
  args.y_bytes = sizeof(float) * kM * kN;
  args.y = Allocate(device, args.y_bytes);
  CHECK_OK(tarsia_memory_fill(device, args.y, 0xFF, args.y_bytes, NULL));
  args.workspace_bytes = InfoOf(plan).workspace_bytes;
  if (args.workspace_bytes != 0) args.workspace = Allocate(device, args.workspace_bytes);
  CHECK_OK(tarsia_matmul_workspace_init(plan, args.workspace, args.workspace_bytes, NULL));
  return args;
}

static void Free(const tarsia_matmul_args* args) {
  CHECK_OK(tarsia_stream_synchronize(device, NULL));
  CHECK_OK(tarsia_memory_free(device, (void*)(uintptr_t)args->x));
  CHECK_OK(tarsia_memory_free(device, (void*)(uintptr_t)args->weights));
  CHECK_OK(tarsia_memory_free(device, args->y));
  CHECK_OK(tarsia_memory_free(device, args->workspace));
}

static float SumOf(int row, int column) {
  float sum = 0;
  for (int k = 0; k < kK; ++k) sum += x_value[row * kK + k] * w[k * kN + column];
  return sum;
}

/* y is x w, of the first half `rectified` times the second. */
static void ExpectProduct(const tarsia_matmul_args* args, bool gated) {
  static float y[kM * kN];
  const int columns = gated ? kHalf : kN;
  const uint64_t bytes = sizeof(float) * (uint64_t)(kM * columns);
  CHECK_OK(tarsia_memory_read(device, y, args->y, bytes, NULL));
  int wrong = 0;
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < columns; ++column) {
      float wanted = SumOf(row, column);
      if (gated) wanted = (wanted > 0 ? wanted : 0) * SumOf(row, kHalf + column);
      if (y[row * columns + column] != wanted) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

/* ---- right calls ------------------------------------------------------------------------------
 */

static void TestDescribe(const tarsia_weights* weights) {
  SIZED(tarsia_matmul, layer);
  CHECK_OK(tarsia_matmul_describe(weights, &layer));
  CHECK(layer.m_min == 1 && layer.m_max == 1 && layer.k == kK && layer.n == kN);
  CHECK(layer.type == TARSIA_DTYPE_I4 && layer.compute == TARSIA_DTYPE_F16);
  CHECK(layer.group == kGroup && layer.scale_type == TARSIA_DTYPE_F16);
  CHECK(layer.zero == TARSIA_ZERO_POINT_NONE && layer.zero_type == TARSIA_DTYPE_NONE);
  CHECK(layer.tensor_scale == 1 && layer.finite && !layer.gathers && !layer.codebook);
  CHECK(!layer.gated && !layer.residual && layer.bias_type == TARSIA_DTYPE_NONE);
  CHECK_INVALID("null", tarsia_matmul_describe(NULL, &layer));
  CHECK_INVALID("null", tarsia_matmul_describe(weights, NULL));
  layer.size = 0;
  CHECK_INVALID("size", tarsia_matmul_describe(weights, &layer));
}

static void TestPlan(const tarsia_matmul_plan* plan, const tarsia_weights* weights) {
  const tarsia_matmul_plan_info info = InfoOf(plan);
  const void* image = NULL;
  uint64_t bytes = 0;
  CHECK_OK(tarsia_weights_image(weights, &image, &bytes));
  CHECK(info.weight_bytes == bytes);
  CHECK(strcmp(info.layout_id, "i4-f16-v2") == 0);
  CHECK(strcmp(info.device, tarsia_device_name(device)) == 0);
  CHECK(info.range_count >= 1);
  int64_t next = 0;
  for (size_t i = 0; i < info.range_count; ++i) {
    SIZED(tarsia_matmul_range, range);
    CHECK_OK(tarsia_matmul_plan_range(plan, i, &range));
    CHECK(range.m_min == next && range.m_max >= next && range.kernel_count >= 1);
    CHECK(range.floor_operations == (double)(2 * range.m_max * kK * kN));
    CHECK(strncmp(range.candidate, "BM=", 3) == 0);
    next = range.m_max + 1;
  }
  CHECK(next == 41);
  SIZED(tarsia_matmul_range, range);
  CHECK_INVALID("index", tarsia_matmul_plan_range(plan, info.range_count, &range));
  CHECK_INVALID("null", tarsia_matmul_plan_range(NULL, 0, &range));
  CHECK_INVALID("null", tarsia_matmul_plan_range(plan, 0, NULL));
  SIZED(tarsia_matmul_plan_info, again);
  CHECK_INVALID("null", tarsia_matmul_plan_get(NULL, &again));
  CHECK_INVALID("null", tarsia_matmul_plan_get(plan, NULL));
}

static void TestCode(const tarsia_matmul_plan* plan) {
  tarsia_code* code = NULL;
  if (is_cpu) {
    CHECK_FAILS(TARSIA_STATUS_UNSUPPORTED, "there is no code",
                tarsia_matmul_plan_code(plan, 0, 0, &code));
  } else {
    tarsia_blob* text = NULL;
    CHECK_OK(tarsia_matmul_plan_code(plan, 0, 0, &code));
    CHECK_OK(tarsia_code_emit(code, TARSIA_CODE_PTX, &text));
    CHECK(text != NULL && strstr(tarsia_blob_data(text), ".entry") != NULL);
    tarsia_blob_destroy(text);
    tarsia_code_destroy(code);
  }
  CHECK_INVALID("range", tarsia_matmul_plan_code(plan, 99, 0, &code));
  CHECK(code == NULL);
  CHECK_INVALID("kernel", tarsia_matmul_plan_code(plan, 0, 99, &code));
  CHECK_INVALID("null", tarsia_matmul_plan_code(NULL, 0, 0, &code));
  CHECK_INVALID("null", tarsia_matmul_plan_code(plan, 0, 0, NULL));
}

static void TestExecute(const tarsia_matmul_plan* plan, const tarsia_weights* weights) {
  tarsia_matmul_args args = Arguments(plan, weights);
  for (int round = 0; round < 2; ++round) CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
  ExpectProduct(&args, false);
  args.m = 0; /* nothing to do, and nothing is written */
  CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
  ExpectProduct(&args, false);
  Free(&args);
}

static void CountErrors(void* count, tarsia_log_level level, const char* message) {
  CHECK(level == TARSIA_LOG_ERROR && message[0] != '\0');
  ++*(int*)count;
}

/* A list ends with NOT_FOUND, which no log of errors shows; other failures are errors. */
static void TestEndOfCandidates(const tarsia_weights* weights) {
  const tarsia_matmul layer = Layer(weights);
  const tarsia_matmul_options options = Options();
  int errors = 0;
  CHECK_OK(tarsia_set_log_callback(CountErrors, &errors, TARSIA_LOG_ERROR));
  tarsia_blob* text = NULL;
  CHECK_FAILS(TARSIA_STATUS_NOT_FOUND, "index",
              tarsia_matmul_candidate(&layer, &options, kM, 1000000, &text, NULL));
  CHECK(text == NULL && errors == 0);
  CHECK_INVALID("rows", tarsia_matmul_candidate(&layer, &options, -1, 0, &text, NULL));
  CHECK(errors == 1);
  CHECK_OK(tarsia_set_log_callback(NULL, NULL, TARSIA_LOG_OFF));
}

/* Each candidate computes the same; the first is the best. */
static void TestCandidates(const tarsia_weights* weights) {
  tarsia_matmul layer = Layer(weights);
  layer.m_min = layer.m_max = kM;
  tarsia_matmul_options options = Options();
  double before = 0;
  for (size_t i = 0; i < 3; ++i) {
    tarsia_blob* text = NULL;
    double microseconds = -1;
    if (is_cpu && i > 0) {
      CHECK_FAILS(TARSIA_STATUS_NOT_FOUND, "index",
                  tarsia_matmul_candidate(&layer, &options, kM, i, &text, &microseconds));
      CHECK(text == NULL);
      break;
    }
    CHECK_OK(tarsia_matmul_candidate(&layer, &options, kM, i, &text, &microseconds));
    CHECK(microseconds >= before);
    before = microseconds;
    options.candidate = tarsia_blob_data(text);
    tarsia_matmul_plan* plan = NULL;
    CHECK_OK(tarsia_matmul_plan_create(&layer, &options, &plan));
    SIZED(tarsia_matmul_range, range);
    CHECK_OK(tarsia_matmul_plan_range(plan, 0, &range));
    CHECK(strcmp(range.candidate, options.candidate) == 0);
    tarsia_matmul_args args = Arguments(plan, weights);
    CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
    ExpectProduct(&args, false);
    Free(&args);
    tarsia_matmul_plan_destroy(plan);
    tarsia_blob_destroy(text);
    options.candidate = NULL;
  }
  tarsia_blob* text = NULL;
  CHECK_INVALID("null", tarsia_matmul_candidate(NULL, &options, kM, 0, &text, NULL));
  CHECK_INVALID("null", tarsia_matmul_candidate(&layer, &options, kM, 0, NULL, NULL));
  CHECK_INVALID("rows", tarsia_matmul_candidate(&layer, &options, -1, 0, &text, NULL));
  CHECK_OK(tarsia_matmul_candidate(&layer, &options, kM, 0, &text, NULL));
  tarsia_blob_destroy(text);
}

/* A gated pair: y = max(0, x w[:, :48]) * (x w[:, 48:]). */
static void TestGated(const tarsia_weights* weights) {
  tarsia_matmul layer = Layer(weights);
  layer.gated = true;
  layer.activation = TARSIA_ACTIVATION_RELU;
  tarsia_matmul_plan* plan = Plan(&layer);
  tarsia_matmul_args args = Arguments(plan, weights);
  CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
  ExpectProduct(&args, true);
  Free(&args);
  tarsia_matmul_plan_destroy(plan);
}

/* ---- plans as bytes ---------------------------------------------------------------------------
 */

static void TestBytes(const tarsia_matmul_plan* plan, const tarsia_weights* weights) {
  tarsia_blob* bytes = NULL;
  CHECK_OK(tarsia_matmul_plan_save(plan, &bytes));
  const char* const data = tarsia_blob_data(bytes);
  const size_t size = tarsia_blob_size(bytes);
  tarsia_matmul_plan* loaded = NULL;
  CHECK_OK(tarsia_matmul_plan_load(device, data, size, &loaded));
  TestPlan(loaded, weights);
  TestCode(loaded);
  TestExecute(loaded, weights);
  tarsia_matmul_plan_destroy(loaded);

  CHECK_FAILS(TARSIA_STATUS_REJECTED, "not a whole plan",
              tarsia_matmul_plan_load(device, data, 7, &loaded));
  CHECK(loaded == NULL);
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "they are cut short or damaged",
              tarsia_matmul_plan_load(device, data, size - 1, &loaded));
  char* const damaged = malloc(size);
  memcpy(damaged, data, size);
  damaged[size / 2] = (char)(damaged[size / 2] ^ 1);
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "they are cut short or damaged",
              tarsia_matmul_plan_load(device, damaged, size, &loaded));
  free(damaged);
  tarsia_plan* other = NULL;
  CHECK_FAILS(TARSIA_STATUS_UNSUPPORTED, "its kind is a plan of a quantised matmul",
              tarsia_plan_load(device, data, size, &other));
  tarsia_device* elsewhere = NULL;
  CHECK_OK(tarsia_device_open("ptx:sm_89", &elsewhere));
  CHECK_FAILS(TARSIA_STATUS_UNSUPPORTED, "and sm_89 for ptx:sm_89 is wanted",
              tarsia_matmul_plan_load(elsewhere, data, size, &loaded));
  tarsia_device_close(elsewhere);
  CHECK_INVALID("null", tarsia_matmul_plan_load(device, NULL, 0, &loaded));
  CHECK_INVALID("null", tarsia_matmul_plan_load(device, data, size, NULL));
  CHECK_INVALID("null", tarsia_matmul_plan_save(NULL, &bytes));
  CHECK(bytes == NULL);
  CHECK_INVALID("null", tarsia_matmul_plan_save(plan, NULL));
}

static void TestFile(const tarsia_matmul_plan* plan, const tarsia_weights* weights) {
  char path[64];
  snprintf(path, sizeof path, "layer_test_%s.plan", device_name);
  for (char* at = path; *at != 0; ++at) *at = *at == ':' ? '_' : *at;
  tarsia_matmul_plan* loaded = NULL;
  CHECK_OK(tarsia_matmul_plan_save_file(plan, path));
  CHECK_OK(tarsia_matmul_plan_load_file(device, path, &loaded));
  TestExecute(loaded, weights);
  tarsia_matmul_plan_destroy(loaded);
  remove(path);
  CHECK_INVALID(path, tarsia_matmul_plan_load_file(device, path, &loaded));
  CHECK_FAILS(TARSIA_STATUS_NO_DEVICE, "/nowhere/plan",
              tarsia_matmul_plan_save_file(plan, "/nowhere/plan"));
  CHECK_INVALID("null", tarsia_matmul_plan_save_file(NULL, path));
  CHECK_INVALID("null", tarsia_matmul_plan_save_file(plan, NULL));
  CHECK_INVALID("null", tarsia_matmul_plan_load_file(device, NULL, &loaded));
  CHECK_INVALID("null", tarsia_matmul_plan_load_file(device, path, NULL));
}

/* ---- wrong calls ------------------------------------------------------------------------------
 */

static void Refuses(tarsia_status status, const char* text, const tarsia_matmul* layer,
                    const tarsia_matmul_options* options) {
  tarsia_matmul_plan* plan = NULL;
  CHECK_FAILS(status, text, tarsia_matmul_plan_create(layer, options, &plan));
  CHECK(plan == NULL);
}

static void TestWrongLayers(const tarsia_weights* weights) {
  const tarsia_matmul layer = Layer(weights);
  const tarsia_matmul_options options = Options();
  const tarsia_status invalid = TARSIA_STATUS_INVALID_ARGUMENT;
  const tarsia_status unsupported = TARSIA_STATUS_UNSUPPORTED;
#define WITH(field, value, status, text)        \
  do {                                          \
    tarsia_matmul with = layer;                 \
    with.field = (value);                       \
    Refuses((status), (text), &with, &options); \
  } while (0)
  WITH(size, 3, invalid, "problem.size");
  WITH(m_min, -1, invalid, "the rows of x");
  WITH(m_max, (int64_t)1 << 31, invalid, "the rows of x");
  WITH(m_min, 41, invalid, "the rows of x");
  WITH(k, -1, invalid, "-1");
  WITH(k, 100, invalid, "100");
  WITH(n, -1, invalid, "-1");
  WITH(group, 0, invalid, "0");
  WITH(group, 48, invalid, "48");
  WITH(type, TARSIA_DTYPE_F32, invalid, "f32");
  WITH(type, (tarsia_dtype)200, invalid, "problem.type");
  WITH(compute, TARSIA_DTYPE_F32, unsupported, "f32");
  WITH(compute, (tarsia_dtype)200, invalid, "problem.compute");
  WITH(scale_type, TARSIA_DTYPE_I8, invalid, "i8");
  WITH(scale_type, (tarsia_dtype)200, invalid, "problem.scale_type");
  WITH(zero, (tarsia_zero_point)9, invalid, "problem.zero");
  WITH(zero, TARSIA_ZERO_POINT_INTEGER, invalid, "problem.zero_type");
  WITH(y_type, TARSIA_DTYPE_I32, unsupported, "outputs");
  WITH(bias_type, TARSIA_DTYPE_I32, unsupported, "a bias");
  WITH(activation, (tarsia_activation)99, invalid, "problem.activation");
  WITH(experts, 2, unsupported, "experts");
#undef WITH
  Refuses(invalid, "null", NULL, &options);
  tarsia_matmul_plan* plan = NULL;
  CHECK_INVALID("null", tarsia_matmul_plan_create(&layer, &options, NULL));
  (void)plan;
}

static bool Yes(void* user) {
  (void)user;
  return true;
}

static void TestWrongOptions(const tarsia_weights* weights) {
  tarsia_matmul layer = Layer(weights);
  tarsia_matmul_options options = Options();
  options.size = 1;
  Refuses(TARSIA_STATUS_INVALID_ARGUMENT, "options.size", &layer, &options);
  options = Options();
  options.device = "toaster";
  Refuses(TARSIA_STATUS_INVALID_ARGUMENT, "`toaster`", &layer, &options);
  options = Options();
  options.flags = 64;
  Refuses(TARSIA_STATUS_INVALID_ARGUMENT, "options.flags", &layer, &options);
  options = Options();
  options.candidate = "BM=1";
  Refuses(TARSIA_STATUS_INVALID_ARGUMENT, "`BM=1`", &layer, &options);
  if (is_cpu) return; /* it compiles nothing, and needs no workspace */
  options = Options();
  options.cancel = Yes;
  layer.n = 80; /* not compiled yet */
  Refuses(TARSIA_STATUS_CANCELLED, "", &layer, &options);
}

/* The emulator checks every access. */
static void TestFinding(const tarsia_matmul_plan* plan, const tarsia_matmul_args* args) {
  _Alignas(16) static float on_host[kM * kN];
  tarsia_matmul_args with = *args;
  with.y = on_host;
  CHECK_FAILS(TARSIA_STATUS_FINDINGS, "no allocation", tarsia_matmul_execute(plan, &with, NULL));
}

/* Weights in memory of the process say what they are. */
static void TestOtherWeights(const tarsia_matmul_plan* plan, const tarsia_matmul_args* args) {
  SIZED(tarsia_quantise_options, options);
  options.type = TARSIA_DTYPE_I4;
  options.compute = TARSIA_DTYPE_F16;
  options.group = kGroup / 2;
  options.scale_type = TARSIA_DTYPE_F16;
  tarsia_weights* other = NULL;
  CHECK_OK(tarsia_weights_quantise(w, sizeof w, TARSIA_DTYPE_F32, kK, kN, false, &options, &other));
  tarsia_matmul_args with = *args;
  CHECK_OK(tarsia_weights_image(other, &with.weights, &with.weights_bytes));
  CHECK_INVALID("`group` of the weights is", tarsia_matmul_execute(plan, &with, NULL));
  tarsia_weights_destroy(other);
}

static void TestWrongArguments(const tarsia_matmul_plan* plan, const tarsia_weights* weights) {
  const tarsia_matmul_args args = Arguments(plan, weights);
#define WITH(field, value, text)                                   \
  do {                                                             \
    tarsia_matmul_args with = args;                                \
    with.field = (value);                                          \
    CHECK_INVALID(text, tarsia_matmul_execute(plan, &with, NULL)); \
  } while (0)
  WITH(size, 3, "args.size");
  WITH(m, -1, "rows");
  WITH(m, 41, "rows");
  WITH(x, NULL, "x");
  WITH(x_bytes, args.x_bytes - 1, "`x` has");
  WITH(weights, NULL, "weights");
  WITH(weights_bytes, args.weights_bytes - 1, "`weights` has");
  WITH(bias, args.x, "bias");
  WITH(residual, args.x, "residual");
  WITH(row_scales, args.x, "`row_scales` is given");
  WITH(y, NULL, "y");
  WITH(y_bytes, args.y_bytes - 1, "`y` has");
  if (args.workspace_bytes != 0) {
    WITH(workspace, NULL, "workspace");
    WITH(workspace_bytes, args.workspace_bytes - 1, "workspace");
    CHECK_INVALID("workspace", tarsia_matmul_workspace_init(plan, args.workspace,
                                                            args.workspace_bytes - 1, NULL));
  }
  if (strncmp(device_name, "ptx", 3) == 0) TestFinding(plan, &args);
  if (is_cpu) TestOtherWeights(plan, &args);
#undef WITH
  CHECK_INVALID("null", tarsia_matmul_execute(NULL, &args, NULL));
  CHECK_INVALID("null", tarsia_matmul_execute(plan, NULL, NULL));
  CHECK_INVALID("null", tarsia_matmul_workspace_init(NULL, NULL, 0, NULL));
  CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
  ExpectProduct(&args, false);
  Free(&args);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  if (argc != 2) return 1;
  device_name = argv[1];
  is_cpu = strcmp(device_name, "cpu") == 0;
  CHECK_OK(tarsia_device_open(device_name, &device));
  if (device == NULL) return 1;
  tarsia_weights* weights = Weights();
  const tarsia_matmul layer = Layer(weights);
  tarsia_matmul_plan* plan = Plan(&layer);
  TestDescribe(weights);
  TestPlan(plan, weights);
  TestCode(plan);
  TestExecute(plan, weights);
  TestCandidates(weights);
  TestEndOfCandidates(weights);
  TestGated(weights);
  TestBytes(plan, weights);
  TestFile(plan, weights);
  TestWrongLayers(weights);
  TestWrongOptions(weights);
  TestWrongArguments(plan, weights);
  tarsia_matmul_plan_destroy(plan);
  tarsia_matmul_plan_destroy(NULL);
  tarsia_weights_destroy(weights);
  tarsia_device_close(device);
  return failures == 0 ? 0 : 1;
}
