/* Packed weights through the C API: quantised, packed, saved, loaded, unpacked, cut, multiplied;
 * and every wrong call. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tarsia/tarsia.h"
#include "tests/capi/check.h"

enum { kK = 128, kN = 192, kGroup = 64, kCount = kK * kN, kScales = kK / kGroup * kN };

static float w[kCount], got[kCount], scales[kScales], zeros[kScales];
static uint8_t codes[kCount], again[kCount];

static tarsia_dtype Type(const char* name) {
  tarsia_dtype out = TARSIA_DTYPE_NONE;
  CHECK_OK(tarsia_dtype_find(name, &out));
  return out;
}

static tarsia_quantise_options Options(void) {
  SIZED(tarsia_quantise_options, options);
  options.type = Type("u4");
  options.compute = Type("f16");
  options.group = kGroup;
  options.scale_type = Type("f16");
  options.zero = TARSIA_ZERO_POINT_INTEGER;
  return options;
}

static tarsia_weights* Quantised(void) {
  const tarsia_quantise_options options = Options();
  tarsia_weights* out = NULL;
  CHECK_OK(tarsia_weights_quantise(w, sizeof w, Type("f32"), kK, kN, false, &options, &out));
  return out;
}

static void CountProgress(void* user, uint64_t done, uint64_t total) {
  CHECK(done <= total);
  ++*(int*)user;
}
static bool Yes(void* user) {
  (void)user;
  return true;
}

/* The weights are near their originals, and follow from codes, scales and zero points. */
static void TestQuantise(void) {
  tarsia_weights* weights = Quantised();
  SIZED(tarsia_weights_info, info);
  CHECK_OK(tarsia_weights_get(weights, &info));
  CHECK(info.k == kK && info.n == kN && info.group == kGroup && info.finite && !info.gathers);
  CHECK(info.type == Type("u4") && info.zero_type == Type("u8") && !info.codebook);
  CHECK(strcmp(info.layout_id, "u4-f16-v2") == 0);
  CHECK(strncmp(info.code_order, "packed(", 7) == 0 && strlen(info.zero_order) > 0);
  CHECK_OK(tarsia_weights_unpack(weights, codes, kCount, scales, kScales, zeros, kScales));
  CHECK_OK(tarsia_weights_dequantise(weights, got, kCount));
  for (int i = 0; i < kCount; ++i) {
    const int at = i / kN / kGroup * kN + i % kN;
    CHECK(fabsf(got[i] - w[i]) <= scales[at] * 0.51F);
    CHECK(got[i] == ((float)codes[i] - zeros[at]) * scales[at]);
  }
  const void* data = NULL;
  uint64_t bytes = 0;
  CHECK_OK(tarsia_weights_part(weights, TARSIA_WEIGHTS_CODES, &data, &bytes));
  CHECK(bytes == kCount / 2 && data != NULL && (uintptr_t)data % 16 == 0);
  CHECK_OK(tarsia_weights_part(weights, TARSIA_WEIGHTS_GATHER, &data, &bytes));
  CHECK(bytes == 0 && data == NULL);
  tarsia_weights_destroy(weights);
}

/* The codes and the scales above, without zero points. */
static tarsia_codes Codes(void) {
  SIZED(tarsia_codes, given);
  given.type = Type("u4");
  given.compute = Type("f16");
  given.k = kK;
  given.n = kN;
  given.group = kGroup;
  given.codes = codes;
  given.code_count = kCount;
  given.scale_type = Type("f16");
  given.scales = scales;
  given.scale_count = kScales;
  return given;
}

static void TestPackAndFiles(void) {
  tarsia_weights *first = Quantised(), *packed = NULL, *loaded = NULL, *copied = NULL;
  CHECK_OK(tarsia_weights_unpack(first, codes, kCount, scales, kScales, zeros, kScales));
  int calls = 0;
  tarsia_codes given = Codes();
  given.zero = TARSIA_ZERO_POINT_INTEGER;
  given.zeros = zeros;
  given.zero_count = kScales;
  given.progress = CountProgress;
  given.progress_user = &calls;
  CHECK_OK(tarsia_weights_pack(&given, &packed));
  CHECK(calls > 0);
  char path[] = "/tmp/tarsia-weights-XXXXXX";
  close(mkstemp(path));
  CHECK_OK(tarsia_weights_save(packed, path));
  CHECK_OK(tarsia_weights_load(path, &loaded));
  CHECK_OK(tarsia_weights_unpack(loaded, again, kCount, NULL, 0, NULL, 0));
  CHECK(memcmp(codes, again, kCount) == 0);
  SIZED(tarsia_weights_info, info);
  CHECK_OK(tarsia_weights_get(loaded, &info));
  char* bytes = malloc(info.file_bytes);
  FILE* file = fopen(path, "rb");
  CHECK(fread(bytes, 1, info.file_bytes, file) == info.file_bytes);
  fclose(file);
  CHECK_OK(tarsia_weights_load_memory(bytes, info.file_bytes, &copied));
  tarsia_weights_destroy(copied);
  copied = NULL;
  bytes[300] = (char)(bytes[300] ^ 1);
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "hash",
              tarsia_weights_load_memory(bytes, info.file_bytes, &copied));
  CHECK(copied == NULL);
  free(bytes);
  unlink(path);
  CHECK_INVALID("cannot open", tarsia_weights_load(path, &copied));
  CHECK_FAILS(TARSIA_STATUS_NO_DEVICE, "cannot write",
              tarsia_weights_save(first, "no/such/folder/w.tsw"));

  codes[5] = 16;
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "the code of row 0, column 5 is 16, which has bits beyond",
              tarsia_weights_pack(&given, &copied));
  codes[5] = 0;
  scales[3] = NAN;
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "group 0, column 3 is nan",
              tarsia_weights_pack(&given, &copied));
  given.scale_count = kScales - 1;
  CHECK_INVALID("codes.scales", tarsia_weights_pack(&given, &copied));
  given.scale_count = kScales;
  given.scales = NULL;
  CHECK_INVALID("codes.scales", tarsia_weights_pack(&given, &copied));
  given.code_count = 7;
  CHECK_INVALID("codes.codes", tarsia_weights_pack(&given, &copied));
  given.group = 100;
  CHECK_INVALID("do not divide", tarsia_weights_pack(&given, &copied));
  given.k = -1;
  CHECK_INVALID("is negative", tarsia_weights_pack(&given, &copied));
  tarsia_weights_destroy(first);
  tarsia_weights_destroy(packed);
  tarsia_weights_destroy(loaded);
}

static void TestShards(void) {
  tarsia_weights* whole = Quantised();
  tarsia_weights *halves[2] = {NULL, NULL}, *joined = NULL;
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(tarsia_weights_shard((const tarsia_weights* const*)&whole, 1, true, i, 2, &halves[i]));
  }
  CHECK_OK(tarsia_weights_shard((const tarsia_weights* const*)halves, 2, true, 0, 1, &joined));
  CHECK_OK(tarsia_weights_unpack(whole, codes, kCount, NULL, 0, NULL, 0));
  CHECK_OK(tarsia_weights_unpack(joined, again, kCount, NULL, 0, NULL, 0));
  CHECK(memcmp(codes, again, kCount) == 0);
  tarsia_weights* bad = NULL;
  CHECK_INVALID("none of the pieces",
                tarsia_weights_shard((const tarsia_weights* const*)halves, 1, true, 0, 1, &bad));
  const tarsia_weights* const twice[] = {whole, halves[0]};
  CHECK_INVALID("pieces 0 and 1 overlap", tarsia_weights_shard(twice, 2, true, 0, 1, &bad));
  CHECK_INVALID("begin and end",
                tarsia_weights_shard((const tarsia_weights* const*)&whole, 1, false, 0, 2, &bad));
  CHECK_INVALID("equal parts",
                tarsia_weights_shard((const tarsia_weights* const*)&whole, 1, false, 0, 5, &bad));
  CHECK_INVALID("there is no part 2 of 2",
                tarsia_weights_shard((const tarsia_weights* const*)&whole, 1, true, 2, 2, &bad));
  CHECK_INVALID("`pieces` is null", tarsia_weights_shard(NULL, 1, true, 0, 1, &bad));
  CHECK_INVALID("`pieces` has 0 elements", tarsia_weights_shard(twice, 0, true, 0, 1, &bad));
  const tarsia_weights* const lacking[] = {whole, NULL};
  CHECK_INVALID("`pieces[1]` is null", tarsia_weights_shard(lacking, 2, true, 0, 1, &bad));
  tarsia_weights_destroy(whole);
  tarsia_weights_destroy(halves[0]);
  tarsia_weights_destroy(halves[1]);
  tarsia_weights_destroy(joined);
}

/* Weights whose row i belongs to column (i + first) % kK of x. */
static tarsia_weights* Gathered(int first) {
  static int32_t gather[kK];
  for (int i = 0; i < kK; ++i) gather[i] = (i + first) % kK;
  for (int i = 0; i < kCount; ++i) codes[i] = (uint8_t)(i % 16);
  for (int i = 0; i < kScales; ++i) scales[i] = 0.5F;
  tarsia_codes given = Codes();
  given.gather = gather;
  tarsia_weights* out = NULL;
  CHECK_OK(tarsia_weights_pack(&given, &out));
  return out;
}

/* Pieces with one gather list are joined; those with two belong to two matrices. */
static void TestShardsOfGatherLists(void) {
  tarsia_weights *whole = Gathered(1), *other = Gathered(2), *thirds[3], *joined = NULL;
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(
        tarsia_weights_shard((const tarsia_weights* const*)&whole, 1, false, i, 3, &thirds[i]));
  }
  CHECK_OK(tarsia_weights_shard((const tarsia_weights* const*)thirds, 3, false, 0, 1, &joined));
  const void* gather = NULL;
  uint64_t bytes = 0;
  CHECK_OK(tarsia_weights_part(joined, TARSIA_WEIGHTS_GATHER, &gather, &bytes));
  CHECK(((const int32_t*)gather)[0] == 1 && ((const int32_t*)gather)[kK - 1] == 0);
  tarsia_weights* bad = NULL;
  tarsia_weights_destroy(thirds[2]);
  CHECK_OK(tarsia_weights_shard((const tarsia_weights* const*)&other, 1, false, 2, 3, &thirds[2]));
  CHECK_INVALID("piece 2 belongs to another matrix",
                tarsia_weights_shard((const tarsia_weights* const*)thirds, 3, false, 0, 1, &bad));
  CHECK(bad == NULL);
  for (int i = 0; i < 3; ++i) tarsia_weights_destroy(thirds[i]);
  tarsia_weights_destroy(whole);
  tarsia_weights_destroy(other);
  tarsia_weights_destroy(joined);
}

/* The columns of both, side by side. */
static void TestPair(void) {
  tarsia_weights* first = Quantised();
  CHECK_OK(tarsia_weights_dequantise(first, got, kCount));
  for (int i = 0; i < kCount; ++i) w[i] = -w[i];
  tarsia_weights *second = Quantised(), *pair = NULL;
  for (int i = 0; i < kCount; ++i) w[i] = -w[i];
  CHECK_OK(tarsia_weights_pair(first, second, &pair));
  SIZED(tarsia_weights_info, info);
  CHECK_OK(tarsia_weights_get(pair, &info));
  CHECK(info.k == kK && info.n == 2 * kN && info.whole_n == 2 * kN && info.zero != 0);
  float* both = malloc(2 * kCount * sizeof(float));
  float* other = malloc(kCount * sizeof(float));
  CHECK_OK(tarsia_weights_dequantise(pair, both, 2 * kCount));
  CHECK_OK(tarsia_weights_dequantise(second, other, kCount));
  for (int k = 0; k < kK; ++k) {
    CHECK(memcmp(both + k * 2 * kN, got + k * kN, kN * sizeof(float)) == 0);
    CHECK(memcmp(both + k * 2 * kN + kN, other + k * kN, kN * sizeof(float)) == 0);
  }
  CHECK(memcmp(got, other, kCount * sizeof(float)) != 0);
  tarsia_weights* bad = NULL;
  CHECK_INVALID("differ in the shape: [128, 192] and [128, 384]",
                tarsia_weights_pair(first, pair, &bad));
  tarsia_weights* half = NULL;
  CHECK_OK(tarsia_weights_shard((const tarsia_weights* const*)&first, 1, true, 0, 2, &half));
  CHECK_INVALID("whole matrix", tarsia_weights_pair(half, half, &bad));
  CHECK_INVALID("`first` is null", tarsia_weights_pair(NULL, second, &bad));
  CHECK_INVALID("`second` is null", tarsia_weights_pair(first, NULL, &bad));
  CHECK_INVALID("`out` is null", tarsia_weights_pair(first, second, NULL));
  tarsia_weights *one = Gathered(1), *another = Gathered(2);
  CHECK_INVALID("gather list", tarsia_weights_pair(one, another, &bad));
  CHECK(bad == NULL);
  tarsia_weights_destroy(one);
  tarsia_weights_destroy(another);
  free(both);
  free(other);
  tarsia_weights_destroy(half);
  tarsia_weights_destroy(pair);
  tarsia_weights_destroy(second);
  tarsia_weights_destroy(first);
}

/* A kernel of the library reads the parts as they are. */
static void TestProduct(void) {
  tarsia_weights* weights = Quantised();
  SIZED(tarsia_weights_info, info);
  CHECK_OK(tarsia_weights_get(weights, &info));
  CHECK_OK(tarsia_weights_dequantise(weights, got, kCount));
  tarsia_module* module = NULL;
  CHECK_OK(tarsia_module_create_from_library("matmul_packed", &module));
  const tarsia_binding constants[] = {{sizeof(tarsia_binding), "K", "128"},
                                      {sizeof(tarsia_binding), "N", "192"},
                                      {sizeof(tarsia_binding), "G", "64"},
                                      {sizeof(tarsia_binding), "ZERO", "true"},
                                      {sizeof(tarsia_binding), "X", "bf16"},
                                      {sizeof(tarsia_binding), "PACK", info.code_order},
                                      {sizeof(tarsia_binding), "SPACK", info.scale_order},
                                      {sizeof(tarsia_binding), "ZPACK", info.zero_order}};
  SIZED(tarsia_plan_options, options);
  options.device = "cpu";
  options.bindings = constants;
  options.binding_count = sizeof constants / sizeof constants[0];
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, &options, &plan, NULL));
  static uint16_t x[kK], y[kN];
  for (int k = 0; k < kK; ++k) x[k] = k % 3 == 0 ? 0x3F80 : 0; /* 1.0 in bf16 */
  const void* part[3] = {NULL, NULL, NULL};
  uint64_t bytes[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(tarsia_weights_part(weights, (tarsia_weights_part_kind)(i + 1), &part[i], &bytes[i]));
  }
  float table[16] = {0};
  tarsia_arg args[8];
  memset(args, 0, sizeof args);
  for (int i = 0; i < 8; ++i) args[i].size = sizeof(tarsia_arg);
  void* const buffers[] = {
      x, (void*)(uintptr_t)part[0], (void*)(uintptr_t)part[1], (void*)(uintptr_t)part[2], table, y};
  const uint64_t sizes[] = {sizeof x, bytes[0], bytes[1], bytes[2], sizeof table, sizeof y};
  for (int i = 0; i < 6; ++i) {
    args[i].kind = TARSIA_ARG_POINTER;
    args[i].value.pointer.data = buffers[i];
    args[i].value.pointer.bytes = sizes[i];
  }
  args[6].kind = TARSIA_ARG_SCALAR;
  args[6].dtype = Type("i32");
  args[6].value.i32 = 1;
  args[7].kind = TARSIA_ARG_SCALAR;
  args[7].dtype = Type("f32");
  args[7].value.f32 = 1;
  CHECK_OK(tarsia_execute(plan, args, 8, NULL, NULL, NULL, NULL));
  for (int n = 0; n < kN; ++n) {
    float sum = 0, most = 0;
    for (int k = 0; k < kK; k += 3) {
      sum += got[k * kN + n];
      most += fabsf(got[k * kN + n]);
    }
    uint32_t code = (uint32_t)y[n] << 16;
    float value = 0;
    memcpy(&value, &code, sizeof value);
    CHECK(fabsf(value - sum) <= most * 0x1p-7F);
  }
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
  tarsia_weights_destroy(weights);
}

static void TestWrongCalls(void) {
  tarsia_weights* out = NULL;
  tarsia_quantise_options options = Options();
  const tarsia_dtype f32 = Type("f32");
  CHECK_INVALID("`out` is null",
                tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, NULL));
  CHECK_INVALID("`data` is null",
                tarsia_weights_quantise(NULL, sizeof w, f32, kK, kN, false, &options, &out));
  CHECK_INVALID("`options` is null",
                tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, NULL, &out));
  CHECK_INVALID("has 4 bytes", tarsia_weights_quantise(w, 4, f32, kK, kN, false, &options, &out));
  CHECK_INVALID("cannot be `u4`",
                tarsia_weights_quantise(w, sizeof w, Type("u4"), kK, kN, false, &options, &out));
  CHECK_INVALID("not an element type", tarsia_weights_quantise(w, sizeof w, (tarsia_dtype)9999, kK,
                                                               kN, false, &options, &out));
  CHECK_INVALID("shape", tarsia_weights_quantise(w, sizeof w, f32, -1, kN, false, &options, &out));
  options.group = 100;
  CHECK_INVALID("does not divide",
                tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, &out));
  options = Options();
  options.scale_type = Type("u8");
  CHECK_INVALID("type of scales",
                tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, &out));
  options = Options();
  options.zero = (tarsia_zero_point)7;
  CHECK_INVALID("options.zero",
                tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, &out));
  options = Options();
  options.rule = (tarsia_scale_rule)7;
  CHECK_INVALID("options.rule",
                tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, &out));
  options = Options();
  options.codebook = "nf5";
  CHECK_INVALID("nf5", tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, &out));
  options = Options();
  options.compute = f32;
  CHECK_INVALID("f32", tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, &out));
  options = Options();
  options.cancel = Yes;
  CHECK_FAILS(TARSIA_STATUS_CANCELLED, "cancelled",
              tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, &out));
  w[7] = INFINITY;
  options = Options();
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "row 0, column 7",
              tarsia_weights_quantise(w, sizeof w, f32, kK, kN, false, &options, &out));
  w[7] = 0;
  CHECK(out == NULL);

  tarsia_weights* weights = Quantised();
  SIZED(tarsia_weights_info, info);
  const void* data = NULL;
  CHECK_INVALID("`weights` is null", tarsia_weights_get(NULL, &info));
  CHECK_INVALID("`info` is null", tarsia_weights_get(weights, NULL));
  CHECK_INVALID("`weights` is null", tarsia_weights_part(NULL, TARSIA_WEIGHTS_CODES, &data, NULL));
  CHECK_INVALID("`part`", tarsia_weights_part(weights, (tarsia_weights_part_kind)6, &data, NULL));
  CHECK_INVALID("`codes`", tarsia_weights_unpack(weights, codes, 1, NULL, 0, NULL, 0));
  CHECK_INVALID("`scales`", tarsia_weights_unpack(weights, NULL, 0, scales, 1, NULL, 0));
  CHECK_INVALID("`zeros`", tarsia_weights_unpack(weights, NULL, 0, NULL, 0, zeros, 1));
  CHECK_INVALID("`weights` is null", tarsia_weights_unpack(NULL, NULL, 0, NULL, 0, NULL, 0));
  CHECK_INVALID("`out`", tarsia_weights_dequantise(weights, got, 1));
  CHECK_INVALID("`out` is null", tarsia_weights_dequantise(weights, NULL, kCount));
  CHECK_INVALID("`weights` is null", tarsia_weights_dequantise(NULL, got, kCount));
  CHECK_INVALID("`path` is null", tarsia_weights_save(weights, NULL));
  CHECK_INVALID("`weights` is null", tarsia_weights_save(NULL, "x.tsw"));
  CHECK_INVALID("`path` is null", tarsia_weights_load(NULL, &out));
  CHECK_INVALID("`out` is null", tarsia_weights_load("x.tsw", NULL));
  CHECK_INVALID("`bytes` is null", tarsia_weights_load_memory(NULL, 4, &out));
  CHECK_INVALID("`codes` is null", tarsia_weights_pack(NULL, &out));
  tarsia_weights_destroy(weights);
  tarsia_weights_destroy(NULL);
}

int main(void) {
  for (int i = 0; i < kCount; ++i) w[i] = (float)((i * 7919) % 1009 - 504) / 512;
  TestQuantise();
  TestPackAndFiles();
  TestShards();
  TestPair();
  TestShardsOfGatherLists();
  TestProduct();
  TestWrongCalls();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
