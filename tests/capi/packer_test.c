/* A client of the C API that packs weights on a device: packer_test DEVICE. What the device makes
 * is what tarsia_weights_pack makes, the inverse gives it back, and every argument is wrong once.
 * Prints what fails; exits with 1 then. */
#include <stdint.h>
#include <stdlib.h>

#include "tarsia/tarsia.h"
#include "tests/capi/memory.h"

enum { kK = 192, kN = 100, kGroup = 64, kScales = kK / kGroup * kN };

static const char* device_name;
static tarsia_device* device;
static uint8_t codes[kK * kN];
static float scales[kScales], zeros[kScales];
static uint16_t scale_codes[kScales]; /* f16 */
static uint8_t zero_codes[kScales];

static tarsia_weights* Weights(void) {
  for (int i = 0; i < kK * kN; ++i) codes[i] = (uint8_t)((i * 7 + i / kN) % 32);
  for (int i = 0; i < kScales; ++i) {
    scales[i] = (float)(1 << i % 4);
    zeros[i] = (float)(zero_codes[i] = (uint8_t)(i % 29));
  }
  CHECK_OK(tarsia_dtype_cast(TARSIA_DTYPE_F32, scales, TARSIA_DTYPE_F16, scale_codes, kScales));
  SIZED(tarsia_codes, from);
  from.type = TARSIA_DTYPE_U5;
  from.compute = TARSIA_DTYPE_BF16;
  from.k = kK;
  from.n = kN;
  from.group = kGroup;
  from.codes = codes;
  from.code_count = kK * kN;
  from.scale_type = TARSIA_DTYPE_F16;
  from.scales = scales;
  from.scale_count = kScales;
  from.zero = TARSIA_ZERO_POINT_INTEGER;
  from.zeros = zeros;
  from.zero_count = kScales;
  tarsia_weights* out = NULL;
  CHECK_OK(tarsia_weights_pack(&from, &out));
  return out;
}

/* Whether memory of the device has these bytes. */
static bool Holds(const void* memory, const void* wanted, uint64_t bytes) {
  void* const got = malloc(bytes);
  CHECK_OK(tarsia_memory_read(device, got, memory, bytes, NULL));
  const bool same = memcmp(got, wanted, bytes) == 0;
  free(got);
  return same;
}

static void CheckPart(const tarsia_weights* weights, tarsia_weights_part_kind part,
                      const void* image) {
  const void *begin = NULL, *data = NULL;
  uint64_t bytes = 0;
  CHECK_OK(tarsia_weights_image(weights, &begin, NULL));
  CHECK_OK(tarsia_weights_part(weights, part, &data, &bytes));
  CHECK(bytes > 0);
  const int64_t offset = (const char*)data - (const char*)begin;
  CHECK(Holds((const char*)image + offset, data, bytes));
}

static void TestWrongCalls(const tarsia_packer* packer, const tarsia_matmul* layer,
                           const tarsia_packer_args* right) {
  tarsia_packer* made = NULL;
  CHECK_INVALID("null", tarsia_packer_create(NULL, device_name, &made));
  CHECK_INVALID("null", tarsia_packer_create(layer, device_name, NULL));
  CHECK_INVALID("no-such", tarsia_packer_create(layer, "no-such", &made));
  tarsia_matmul wrong = *layer;
  wrong.size = 0;
  CHECK_INVALID("size", tarsia_packer_create(&wrong, device_name, &made));
  wrong = *layer;
  wrong.type = TARSIA_DTYPE_F32;
  CHECK_INVALID("f32", tarsia_packer_create(&wrong, device_name, &made));
  wrong = *layer;
  wrong.group = 7;
  CHECK_INVALID("7", tarsia_packer_create(&wrong, device_name, &made));
  CHECK(made == NULL);
  CHECK_INVALID("null", tarsia_packer_pack(NULL, right, NULL));
  CHECK_INVALID("null", tarsia_packer_pack(packer, NULL, NULL));
  CHECK_INVALID("null", tarsia_packer_unpack(NULL, right, NULL));
  CHECK_INVALID("null", tarsia_packer_unpack(packer, NULL, NULL));
  tarsia_packer_args args = *right;
  args.size = 3;
  CHECK_INVALID("size", tarsia_packer_pack(packer, &args, NULL));
  args = *right;
  args.codes = NULL;
  CHECK_INVALID("`codes` is null", tarsia_packer_pack(packer, &args, NULL));
  args = *right;
  args.zeros_bytes = kScales - 1;
  CHECK_INVALID("`zeros` has 299 bytes", tarsia_packer_pack(packer, &args, NULL));
  args = *right;
  args.gather = args.codes;
  CHECK_INVALID("`gather` is given", tarsia_packer_pack(packer, &args, NULL));
  args = *right;
  args.image_bytes -= 1;
  CHECK_INVALID("`image` has", tarsia_packer_unpack(packer, &args, NULL));
  args = *right;
  args.scales = (char*)args.scales + 2;
  CHECK_INVALID("multiple of 16", tarsia_packer_unpack(packer, &args, NULL));
}

int main(int count, char** arguments) {
  device_name = count > 1 ? arguments[1] : "cpu";
  CHECK_OK(tarsia_device_open(device_name, &device));
  tarsia_weights* const weights = Weights();
  SIZED(tarsia_matmul, layer);
  CHECK_OK(tarsia_matmul_describe(weights, &layer));
  tarsia_packer* packer = NULL;
  CHECK_OK(tarsia_packer_create(&layer, device_name, &packer));
  if (packer == NULL) return failures == 0 ? 0 : 1;

  SIZED(tarsia_packer_args, args);
  args.codes = Upload(device, codes, args.codes_bytes = sizeof codes);
  args.scales = Upload(device, scale_codes, args.scales_bytes = sizeof scale_codes);
  args.zeros = Upload(device, zero_codes, args.zeros_bytes = sizeof zero_codes);
  CHECK_OK(tarsia_weights_image(weights, NULL, &args.image_bytes));
  CHECK_OK(tarsia_memory_alloc(device, args.image_bytes, &args.image));
  CHECK_OK(tarsia_packer_pack(packer, &args, NULL));
  CheckPart(weights, TARSIA_WEIGHTS_CODES, args.image);
  CheckPart(weights, TARSIA_WEIGHTS_SCALES, args.image);
  CheckPart(weights, TARSIA_WEIGHTS_ZEROS, args.image);

  CHECK_OK(tarsia_memory_fill(device, args.codes, 0xFF, sizeof codes, NULL));
  CHECK_OK(tarsia_memory_fill(device, args.zeros, 0xFF, sizeof zero_codes, NULL));
  CHECK_OK(tarsia_memory_fill(device, args.scales, 0xFF, sizeof scale_codes, NULL));
  tarsia_packer_args some = args;
  some.scales = NULL; /* is left out */
  CHECK_OK(tarsia_packer_unpack(packer, &some, NULL));
  CHECK(Holds(args.codes, codes, sizeof codes));
  CHECK(Holds(args.zeros, zero_codes, sizeof zero_codes));
  CHECK(!Holds(args.scales, scale_codes, sizeof scale_codes));
  CHECK_OK(tarsia_packer_unpack(packer, &args, NULL));
  CHECK(Holds(args.scales, scale_codes, sizeof scale_codes));

  TestWrongCalls(packer, &layer, &args);
  CHECK_OK(tarsia_memory_free(device, args.codes));
  CHECK_OK(tarsia_memory_free(device, args.scales));
  CHECK_OK(tarsia_memory_free(device, args.zeros));
  CHECK_OK(tarsia_memory_free(device, args.image));
  tarsia_packer_destroy(packer);
  tarsia_packer_destroy(NULL);
  tarsia_weights_destroy(weights);
  tarsia_device_close(device);
  return failures == 0 ? 0 : 1;
}
