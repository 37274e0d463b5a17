/* A client of the C API in plain C11: calls every function, rightly and wrongly. A wrong call must
 * give a status and a message, never a crash. Prints what fails; exits with 1 then. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tarsia/tarsia.h"
#include "tests/capi/check.h"

/* y[i] = a * x[i] for i < n */
static const char kScale[] =
    "kernel scale(%x: ptr<f32>, %y: ptr<f32>, %n: i32, %a: f32)\n"
    "  const B: int = 8 tune {8, 16}\n"
    "  const Z: int\n"
    "  require B % 2 == 0, \"B must be even\"\n"
    "  grid (ceildiv(%n, B))\n"
    "{\n"
    "  %b = block.x\n"
    "  %i = mul %b, B\n"
    "  %gx = view %x : global<f32>[%n]\n"
    "  %t = load %gx[%i] : [B]\n"
    "  %s = mul %t, %a\n"
    "  %gy = view %y : global<f32>[%n]\n"
    "  store %gy[%i], %s\n"
    "}\n";

static const char kStop[] =
    "kernel stop(%n: i32)\n"
    "{\n"
    "  assert %n == 0, \"n must be zero\"\n"
    "  print \"n\", %n\n"
    "}\n";

static tarsia_plan* ScalePlan(void) {
  tarsia_module* module = Module(kScale);
  const tarsia_binding binding = {sizeof binding, "Z", "1"};
  SIZED(tarsia_plan_options, options);
  options.bindings = &binding;
  options.binding_count = 1;
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, &options, &plan, NULL));
  tarsia_module_destroy(module); /* the plan needs it no more */
  return plan;
}

/* ---- versions, statuses, log --------------------------------------------------------------- */

static void TestVersion(void) {
  CHECK(strcmp(tarsia_version(), "0.1.0") == 0);
  CHECK(tarsia_version_number() ==
        (TARSIA_VERSION_MAJOR << 16 | TARSIA_VERSION_MINOR << 8 | TARSIA_VERSION_PATCH));
  CHECK(strcmp(tarsia_status_name(TARSIA_STATUS_REJECTED), "TARSIA_STATUS_REJECTED") == 0);
  CHECK(strcmp(tarsia_status_name((tarsia_status)12345), "unknown status") == 0);
}

static int logged = 0;
static void CountLog(void* user, tarsia_log_level level, const char* message) {
  CHECK(user == &logged);
  CHECK(level >= TARSIA_LOG_DEBUG && message != NULL && strlen(message) > 0);
  ++logged;
}

static void TestLog(void) {
  CHECK_OK(tarsia_set_log_callback(CountLog, &logged, TARSIA_LOG_DEBUG));
  tarsia_plan_destroy(ScalePlan());
  const int after_plan = logged;
  CHECK(after_plan >= 1);
  CHECK_INVALID("`name` is null", tarsia_dtype_find(NULL, NULL));
  CHECK(logged == after_plan + 1);
  CHECK_OK(tarsia_set_log_callback(NULL, NULL, TARSIA_LOG_OFF));
  CHECK_INVALID("null", tarsia_dtype_find(NULL, NULL));
  CHECK(logged == after_plan + 1);
  CHECK_INVALID("tarsia_log_level", tarsia_set_log_callback(CountLog, NULL, (tarsia_log_level)77));
}

/* ---- element types ------------------------------------------------------------------------- */

static void TestDTypes(void) {
  CHECK(tarsia_dtype_count() == 65);
  tarsia_dtype dtype = TARSIA_DTYPE_NONE;
  for (size_t i = 0; i < tarsia_dtype_count(); ++i) {
    SIZED(tarsia_dtype_info, info);
    tarsia_dtype again = TARSIA_DTYPE_NONE;
    CHECK_OK(tarsia_dtype_at(i, &dtype));
    CHECK_OK(tarsia_dtype_get(dtype, &info));
    CHECK_OK(tarsia_dtype_find(info.name, &again));
    CHECK(again == dtype && info.dtype == dtype);
  }
  CHECK_INVALID("`index` is 65", tarsia_dtype_at(65, &dtype));
  CHECK_INVALID("`out` is null", tarsia_dtype_at(0, NULL));
  CHECK_FAILS(TARSIA_STATUS_NOT_FOUND, "did you mean `f4e2m1`",
              tarsia_dtype_find("f4e2m11", &dtype));
  SIZED(tarsia_dtype_info, info);
  CHECK_OK(tarsia_dtype_get(TARSIA_DTYPE_F8E4M3FNUZ, &info));
  CHECK(info.bits == 8 && info.exponent_bits == 4 && info.mantissa_bits == 3 && info.bias == 8);
  CHECK(info.kind == TARSIA_DTYPE_KIND_FLOAT && info.has_nan && !info.has_infinity);
  CHECK_INVALID("999", tarsia_dtype_get((tarsia_dtype)999, &info));
  CHECK_INVALID("null", tarsia_dtype_get(TARSIA_DTYPE_F16, NULL));
  info.size = 3;
  CHECK_INVALID("`out.size` is 3", tarsia_dtype_get(TARSIA_DTYPE_F16, &info));
  info.size = (size_t)1 << 40;
  CHECK_INVALID("out.size", tarsia_dtype_get(TARSIA_DTYPE_F16, &info));
}

static void TestValues(void) {
  const tarsia_rounding nearest = TARSIA_ROUNDING_NEAREST_EVEN;
  const tarsia_overflow usual = TARSIA_OVERFLOW_DEFAULT;
  uint64_t code = 0;
  double value = 0;
  CHECK_OK(tarsia_dtype_encode(TARSIA_DTYPE_F16, 1.0, nearest, usual, 0, &code));
  CHECK(code == 0x3C00);
  CHECK_OK(tarsia_dtype_decode(TARSIA_DTYPE_F16, 0x3C00, &value));
  CHECK(value == 1.0);
  CHECK_OK(tarsia_dtype_encode(TARSIA_DTYPE_U4, 99.0, nearest, usual, 0, &code));
  CHECK(code == 15);
  CHECK_OK(tarsia_dtype_encode(TARSIA_DTYPE_F32, 1e300, nearest, usual, 0, &code));
  CHECK(code == 0x7F800000);
  CHECK_OK(
      tarsia_dtype_encode(TARSIA_DTYPE_F32, 1e300, nearest, TARSIA_OVERFLOW_SATURATE, 0, &code));
  CHECK(code == 0x7F7FFFFF);
  /* 1.9 to an integer-valued e2m0: between 1 and 2 (codes 2, 3 of f3e2m0: 1, 2). */
  CHECK_OK(
      tarsia_dtype_encode(TARSIA_DTYPE_F3E2M0, 1.9, TARSIA_ROUNDING_TOWARD_ZERO, usual, 0, &code));
  CHECK_OK(tarsia_dtype_decode(TARSIA_DTYPE_F3E2M0, code, &value));
  CHECK(value == 1.0);
  CHECK_INVALID("null", tarsia_dtype_encode(TARSIA_DTYPE_F16, 1.0, nearest, usual, 0, NULL));
  CHECK_INVALID("null", tarsia_dtype_decode(TARSIA_DTYPE_F16, 1, NULL));
  /* 1 + 2^-11 lies between two values of f16 and goes to the even one; 65520 rounds to infinity. */
  float floats[3] = {1.00048828125f, -2.5f, 65520.0f};
  uint16_t halves[3] = {0, 0, 0};
  CHECK_OK(tarsia_dtype_cast(TARSIA_DTYPE_F32, floats, TARSIA_DTYPE_F16, halves, 3));
  CHECK(halves[0] == 0x3C00 && halves[1] == 0xC100 && halves[2] == 0x7C00);
  CHECK_OK(tarsia_dtype_cast(TARSIA_DTYPE_F32, NULL, TARSIA_DTYPE_F16, NULL, 0));
  CHECK_INVALID("from", tarsia_dtype_cast(TARSIA_DTYPE_F32, NULL, TARSIA_DTYPE_F16, halves, 3));
  CHECK_INVALID("`to` overlaps `from`",
                tarsia_dtype_cast(TARSIA_DTYPE_F32, floats, TARSIA_DTYPE_F16, floats, 3));
  CHECK_INVALID("`to` overlaps `from`",
                tarsia_dtype_cast(TARSIA_DTYPE_F32, floats, TARSIA_DTYPE_F32, floats + 1, 2));
  CHECK_OK(tarsia_dtype_cast(TARSIA_DTYPE_F32, floats, TARSIA_DTYPE_I32, floats, 3));
  CHECK_INVALID("`to`", tarsia_dtype_cast(TARSIA_DTYPE_F32, floats, TARSIA_DTYPE_F16, NULL, 3));
  CHECK_INVALID("not an element type",
                tarsia_dtype_cast(TARSIA_DTYPE_F32, floats, TARSIA_DTYPE_NONE, halves, 3));
  CHECK_INVALID("not an element type", tarsia_dtype_decode(TARSIA_DTYPE_NONE, 1, &value));
  CHECK_INVALID("tarsia_rounding",
                tarsia_dtype_encode(TARSIA_DTYPE_F16, 1.0, (tarsia_rounding)9, usual, 0, &code));
  CHECK_INVALID("tarsia_overflow",
                tarsia_dtype_encode(TARSIA_DTYPE_F16, 1.0, nearest, (tarsia_overflow)9, 0, &code));
}

/* ---- modules ------------------------------------------------------------------------------- */

static void TestModule(void) {
  tarsia_module* module = Module(kScale);
  CHECK(tarsia_module_format(module) == TARSIA_FORMAT_TEXT);
  CHECK(tarsia_module_kernel_count(module) == 1);
  SIZED(tarsia_kernel_info, kernel);
  CHECK_OK(tarsia_module_kernel(module, 0, &kernel));
  CHECK(strcmp(kernel.name, "scale") == 0 && kernel.param_count == 4);
  CHECK(kernel.constant_count == 2 && kernel.line == 1);
  SIZED(tarsia_param_info, param);
  CHECK_OK(tarsia_module_param(module, 0, 1, &param));
  CHECK(param.kind == TARSIA_PARAM_POINTER && strcmp(param.name, "y") == 0);
  CHECK(param.dtype == TARSIA_DTYPE_F32 && strcmp(param.dtype_text, "f32") == 0);
  CHECK_OK(tarsia_module_param(module, 0, 2, &param));
  CHECK(param.kind == TARSIA_PARAM_SCALAR && param.dtype == TARSIA_DTYPE_I32);
  SIZED(tarsia_constant_info, constant);
  CHECK_OK(tarsia_module_constant(module, 0, 0, &constant));
  CHECK(constant.kind == TARSIA_CONSTANT_INT && strcmp(constant.name, "B") == 0);
  CHECK(strcmp(constant.value_text, "8") == 0 && constant.candidate_count == 2);
  const char* text = NULL;
  CHECK_OK(tarsia_module_candidate(module, 0, 0, 1, &text));
  CHECK(strcmp(text, "16") == 0);
  CHECK_OK(tarsia_module_constant(module, 0, 1, &constant));
  CHECK(constant.value_text == NULL && constant.candidate_count == 0);
  size_t index = 7;
  CHECK_OK(tarsia_module_find_kernel(module, "scale", &index));
  CHECK(index == 0);

  CHECK_FAILS(TARSIA_STATUS_NOT_FOUND, "did you mean `scale`",
              tarsia_module_find_kernel(module, "scala", &index));
  CHECK_INVALID("null", tarsia_module_find_kernel(module, NULL, &index));
  CHECK_INVALID("null", tarsia_module_find_kernel(NULL, "scale", &index));
  CHECK_INVALID("null", tarsia_module_find_kernel(module, "scale", NULL));
  CHECK_INVALID("`kernel` is 1", tarsia_module_kernel(module, 1, &kernel));
  CHECK_INVALID("null", tarsia_module_kernel(NULL, 0, &kernel));
  CHECK_INVALID("null", tarsia_module_kernel(module, 0, NULL));
  CHECK_INVALID("`param` is 4", tarsia_module_param(module, 0, 4, &param));
  CHECK_INVALID("null", tarsia_module_param(NULL, 0, 0, &param));
  CHECK_INVALID("`constant` is 2", tarsia_module_constant(module, 0, 2, &constant));
  CHECK_INVALID("null", tarsia_module_constant(module, 0, 0, NULL));
  CHECK_INVALID("`candidate` is 2", tarsia_module_candidate(module, 0, 0, 2, &text));
  CHECK_INVALID("`constant` is 5", tarsia_module_candidate(module, 0, 5, 0, &text));
  CHECK_INVALID("null", tarsia_module_candidate(module, 0, 0, 0, NULL));
  CHECK_INVALID("null", tarsia_module_candidate(NULL, 0, 0, 0, &text));
  CHECK(tarsia_module_kernel_count(NULL) == 0);
  CHECK(tarsia_module_format(NULL) == TARSIA_FORMAT_AUTO);
  tarsia_module_destroy(module);
  tarsia_module_destroy(NULL);
}

static void TestEncodings(void) {
  tarsia_module* module = Module(kScale);
  tarsia_blob* text = NULL;
  tarsia_blob* bytes = NULL;
  tarsia_blob* stripped = NULL;
  tarsia_blob* again = NULL;
  CHECK_OK(tarsia_module_print(module, &text));
  CHECK(strstr(tarsia_blob_data(text), "kernel scale(") != NULL);
  CHECK(tarsia_blob_size(text) == strlen(tarsia_blob_data(text)));
  CHECK_OK(tarsia_module_encode(module, NULL, &bytes));
  SIZED(tarsia_encode_options, options);
  options.strip = true;
  CHECK_OK(tarsia_module_encode(module, &options, &stripped));
  CHECK(tarsia_blob_size(stripped) < tarsia_blob_size(bytes));

  /* Bytecode is told from text by itself, and is the same module. */
  tarsia_module* decoded = NULL;
  CHECK_OK(
      tarsia_module_create(tarsia_blob_data(bytes), tarsia_blob_size(bytes), NULL, &decoded, NULL));
  CHECK(tarsia_module_format(decoded) == TARSIA_FORMAT_BYTECODE);
  CHECK_OK(tarsia_module_print(decoded, &again));
  CHECK(strcmp(tarsia_blob_data(text), tarsia_blob_data(again)) == 0);

  options.has_version = true;
  options.version_minor = 1;
  tarsia_blob* old = NULL;
  CHECK_OK(tarsia_module_encode(module, &options, &old));
  tarsia_blob_destroy(old);
  options.version_major = 99;
  CHECK(tarsia_module_encode(module, &options, &old) == TARSIA_STATUS_UNSUPPORTED && old == NULL);
  CHECK_INVALID("null", tarsia_module_encode(NULL, NULL, &old));
  CHECK_INVALID("null", tarsia_module_encode(module, NULL, NULL));
  CHECK_INVALID("null", tarsia_module_print(NULL, &old));
  CHECK_INVALID("null", tarsia_module_print(module, NULL));
  tarsia_blob_destroy(text);
  tarsia_blob_destroy(bytes);
  tarsia_blob_destroy(stripped);
  tarsia_blob_destroy(again);
  tarsia_blob_destroy(NULL);
  CHECK(tarsia_blob_data(NULL) == NULL && tarsia_blob_size(NULL) == 0);
  tarsia_module_destroy(decoded);
  tarsia_module_destroy(module);
}

/* Every prefix and every flipped byte of bytecode is read or refused, and nothing else. */
static void TestHostileBytecode(void) {
  tarsia_module* module = Module(kScale);
  tarsia_blob* blob = NULL;
  CHECK_OK(tarsia_module_encode(module, NULL, &blob));
  const size_t size = tarsia_blob_size(blob);
  char* bytes = malloc(size);
  if (bytes == NULL) abort();
  for (size_t i = 0; i < 2 * size; ++i) {
    memcpy(bytes, tarsia_blob_data(blob), size);
    if (i >= size) bytes[i - size] = (char)(bytes[i - size] ^ 0x41);
    tarsia_module* broken = NULL;
    SIZED(tarsia_module_options, options);
    options.format = TARSIA_FORMAT_BYTECODE;
    const tarsia_status status =
        tarsia_module_create(bytes, i < size ? i : size, &options, &broken, NULL);
    CHECK(status == TARSIA_STATUS_REJECTED && broken == NULL);
  }
  free(bytes);
  tarsia_blob_destroy(blob);
  tarsia_module_destroy(module);
}

static void TestDiagnostics(void) {
  static const char kBad[] = "kernel k()\n{\n  %a = fil 0.0 : f32[4]\n  %b = add %nope, 1\n}\n";
  tarsia_module* module = NULL;
  tarsia_diagnostics* found = NULL;
  SIZED(tarsia_module_options, options);
  options.name = "bad.tsa";
  CHECK_FAILS(TARSIA_STATUS_REJECTED,
              "bad.tsa:3:", tarsia_module_create(kBad, strlen(kBad), &options, &module, &found));
  CHECK(module == NULL && found != NULL);
  CHECK(tarsia_diagnostics_count(found) == 2 && tarsia_diagnostics_total(found) == 2);
  SIZED(tarsia_diagnostic, one);
  CHECK_OK(tarsia_diagnostics_get(found, 0, &one));
  CHECK(one.severity == TARSIA_SEVERITY_ERROR && one.line == 3 && one.column == 8);
  CHECK(one.length == 3 && strcmp(one.file, "bad.tsa") == 0 && one.offset == 0);
  CHECK(strlen(one.id) > 0 && strstr(one.message, "fil") != NULL);
  CHECK(strstr(one.help, "fill") != NULL);
  CHECK_OK(tarsia_diagnostics_get(found, 1, &one));
  CHECK(one.line == 4);
  SIZED(tarsia_note, note);
  CHECK_INVALID("`note`", tarsia_diagnostics_note(found, 1, one.note_count, &note));
  CHECK_INVALID("`index` is 2", tarsia_diagnostics_note(found, 2, 0, &note));
  CHECK_INVALID("null", tarsia_diagnostics_note(NULL, 0, 0, &note));
  CHECK_INVALID("`index` is 2", tarsia_diagnostics_get(found, 2, &one));
  CHECK_INVALID("null", tarsia_diagnostics_get(NULL, 0, &one));
  CHECK_INVALID("null", tarsia_diagnostics_get(found, 0, NULL));
  tarsia_blob* text = NULL;
  CHECK_OK(tarsia_diagnostics_render(found, false, &text));
  CHECK(strstr(tarsia_blob_data(text), "bad.tsa:3:8: error: ") != NULL);
  CHECK(strstr(tarsia_blob_data(text), "\x1b[") == NULL);
  tarsia_blob_destroy(text);
  CHECK_OK(tarsia_diagnostics_render(found, true, &text));
  CHECK(strstr(tarsia_blob_data(text), "\x1b[") != NULL);
  tarsia_blob_destroy(text);
  CHECK_INVALID("null", tarsia_diagnostics_render(NULL, false, &text));
  CHECK_INVALID("null", tarsia_diagnostics_render(found, false, NULL));
  CHECK(tarsia_diagnostics_count(NULL) == 0 && tarsia_diagnostics_total(NULL) == 0);
  tarsia_diagnostics_destroy(found);
  tarsia_diagnostics_destroy(NULL);
}

static void TestModuleMisuse(void) {
  tarsia_module* module = NULL;
  tarsia_diagnostics* found = NULL;
  SIZED(tarsia_module_options, options);
  CHECK_INVALID("`out` is null", tarsia_module_create("", 0, NULL, NULL, NULL));
  CHECK_INVALID("`data` is null", tarsia_module_create(NULL, 1, NULL, &module, &found));
  CHECK_OK(tarsia_module_create(NULL, 0, NULL, &module, &found));
  CHECK(tarsia_module_kernel_count(module) == 0 && found == NULL);
  tarsia_plan* plan = NULL;
  CHECK_INVALID("no kernels", tarsia_plan_create(module, NULL, &plan, NULL));
  tarsia_module_destroy(module);
  options.format = (tarsia_format)9;
  CHECK_INVALID("tarsia_format", tarsia_module_create("", 0, &options, &module, NULL));
  options.format = TARSIA_FORMAT_BYTECODE;
  CHECK(tarsia_module_create("kernel", 6, &options, &module, &found) == TARSIA_STATUS_REJECTED);
  CHECK(module == NULL && tarsia_diagnostics_count(found) == 1);
  tarsia_diagnostics_destroy(found);
  options.size = 1;
  CHECK_INVALID("`options.size` is 1", tarsia_module_create("", 0, &options, &module, NULL));

  /* A struct of a later version: members unknown here must be zero. */
  struct {
    tarsia_module_options known;
    uint64_t later;
  } grown;
  memset(&grown, 0, sizeof grown);
  grown.known.size = sizeof grown;
  CHECK_OK(tarsia_module_create("", 0, &grown.known, &module, NULL));
  tarsia_module_destroy(module);
  grown.later = 1;
  CHECK(tarsia_module_create("", 0, &grown.known, &module, NULL) == TARSIA_STATUS_UNSUPPORTED);
}

static void TestFormat(void) {
  static const char kText[] = "kernel k( ) // c\n{\n}\n";
  tarsia_blob* text = NULL;
  tarsia_blob* again = NULL;
  tarsia_diagnostics* found = NULL;
  CHECK_OK(tarsia_format_text(kText, strlen(kText), "k.tsa", &text, &found));
  CHECK(strstr(tarsia_blob_data(text), "// c") != NULL && found == NULL);
  CHECK_OK(tarsia_format_text(tarsia_blob_data(text), tarsia_blob_size(text), NULL, &again, NULL));
  CHECK(strcmp(tarsia_blob_data(text), tarsia_blob_data(again)) == 0);
  tarsia_blob_destroy(text);
  tarsia_blob_destroy(again);
  CHECK(tarsia_format_text("kernel", 6, NULL, &text, &found) == TARSIA_STATUS_REJECTED);
  CHECK(text == NULL && tarsia_diagnostics_count(found) > 0);
  tarsia_diagnostics_destroy(found);
  CHECK_INVALID("`text` is null", tarsia_format_text(NULL, 1, NULL, &text, NULL));
  CHECK_INVALID("`out` is null", tarsia_format_text("", 0, NULL, NULL, NULL));
}

static void TestLibrary(void) {
  tarsia_module* module = NULL;
  tarsia_blob* text = NULL;
  for (size_t i = 0; i < tarsia_library_count(); ++i) {
    const char* name = tarsia_library_name(i);
    CHECK(name != NULL);
    CHECK_OK(tarsia_module_create_from_library(name, &module));
    CHECK(tarsia_module_kernel_count(module) > 0);
    tarsia_module_destroy(module);
    CHECK_OK(tarsia_library_text(name, &text));
    CHECK(tarsia_blob_size(text) > 0);
    tarsia_blob_destroy(text);
  }
  CHECK(tarsia_library_name(tarsia_library_count()) == NULL);
  CHECK_FAILS(TARSIA_STATUS_NOT_FOUND, "`nope`",
              tarsia_module_create_from_library("nope", &module));
  CHECK(module == NULL);
  CHECK_INVALID("null", tarsia_module_create_from_library(NULL, &module));
  CHECK_INVALID("null", tarsia_module_create_from_library("nope", NULL));
  CHECK(tarsia_library_text("nope", &text) == TARSIA_STATUS_NOT_FOUND && text == NULL);
  CHECK_INVALID("null", tarsia_library_text(NULL, &text));
  CHECK_INVALID("null", tarsia_library_text("nope", NULL));
}

/* ---- devices and plans --------------------------------------------------------------------- */

static void TestDevices(void) {
  size_t defaults = 0;
  for (size_t i = 0; i < tarsia_device_count(); ++i) {
    SIZED(tarsia_device_info, device);
    CHECK_OK(tarsia_device_get(i, &device));
    CHECK(device.name != NULL && device.description != NULL && device.vector_unit != NULL);
    defaults += device.is_default ? 1 : 0;
    if (strcmp(device.name, "cpu") == 0) CHECK(device.available && device.threads >= 1);
  }
  CHECK(defaults == 1);
  SIZED(tarsia_device_info, device);
  CHECK_INVALID("`index`", tarsia_device_get(tarsia_device_count(), &device));
  CHECK_INVALID("null", tarsia_device_get(0, NULL));
}

static void TestPlan(void) {
  tarsia_plan* plan = ScalePlan();
  SIZED(tarsia_plan_info, info);
  CHECK_OK(tarsia_plan_get(plan, &info));
  CHECK(strcmp(info.kernel, "scale") == 0 && strcmp(info.device, "cpu") == 0);
  CHECK(info.param_count == 4 && info.constant_count == 2 && info.warps == 4);
  SIZED(tarsia_param_info, param);
  CHECK_OK(tarsia_plan_param(plan, 3, &param));
  CHECK(param.dtype == TARSIA_DTYPE_F32 && strcmp(param.name, "a") == 0);
  SIZED(tarsia_constant_info, constant);
  CHECK_OK(tarsia_plan_constant(plan, 1, &constant));
  CHECK(strcmp(constant.name, "Z") == 0 && strcmp(constant.value_text, "1") == 0);
  CHECK_INVALID("`param` is 4", tarsia_plan_param(plan, 4, &param));
  CHECK_INVALID("null", tarsia_plan_param(NULL, 0, &param));
  CHECK_INVALID("`constant` is 2", tarsia_plan_constant(plan, 2, &constant));
  CHECK_INVALID("null", tarsia_plan_constant(NULL, 0, &constant));
  CHECK_INVALID("null", tarsia_plan_get(NULL, &info));
  CHECK_INVALID("null", tarsia_plan_get(plan, NULL));
  tarsia_plan_destroy(plan);
  tarsia_plan_destroy(NULL);
}

static void TestPlanMisuse(void) {
  tarsia_module* module = Module(kScale);
  tarsia_plan* plan = NULL;
  tarsia_diagnostics* found = NULL;
  SIZED(tarsia_plan_options, options);
  CHECK_INVALID("`module` is null", tarsia_plan_create(NULL, NULL, &plan, NULL));
  CHECK_INVALID("`out` is null", tarsia_plan_create(module, NULL, NULL, NULL));
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "Z", tarsia_plan_create(module, NULL, &plan, &found));
  CHECK(plan == NULL && tarsia_diagnostics_count(found) == 1);
  tarsia_diagnostics_destroy(found);

  tarsia_binding bindings[] = {{sizeof(tarsia_binding), "Z", "1"},
                               {sizeof(tarsia_binding), "B", "7"}};
  options.bindings = bindings;
  options.binding_count = 2;
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "B must be even",
              tarsia_plan_create(module, &options, &plan, NULL));
  bindings[1].text = "f16";
  CHECK(tarsia_plan_create(module, &options, &plan, NULL) == TARSIA_STATUS_REJECTED);
  bindings[1].text = "((";
  CHECK(tarsia_plan_create(module, &options, &plan, NULL) == TARSIA_STATUS_REJECTED);
  bindings[1].name = "BB";
  CHECK(tarsia_plan_create(module, &options, &plan, NULL) == TARSIA_STATUS_REJECTED);
  bindings[1].name = NULL;
  CHECK_INVALID("name", tarsia_plan_create(module, &options, &plan, NULL));
  bindings[1].name = "B";
  bindings[1].text = NULL;
  CHECK_INVALID("text", tarsia_plan_create(module, &options, &plan, NULL));
  bindings[1].size = 1;
  CHECK_INVALID("different sizes", tarsia_plan_create(module, &options, &plan, NULL));
  options.bindings = NULL;
  CHECK_INVALID("options.bindings", tarsia_plan_create(module, &options, &plan, NULL));
  options.binding_count = 0;
  options.kernel = "nope";
  CHECK(tarsia_plan_create(module, &options, &plan, NULL) == TARSIA_STATUS_NOT_FOUND);
  options.kernel = NULL;
  options.device = "cuda:0";
  CHECK_FAILS(TARSIA_STATUS_NO_DEVICE, "no CUDA driver",
              tarsia_plan_create(module, &options, &plan, NULL));
  options.device = "toaster";
  CHECK_INVALID("toaster", tarsia_plan_create(module, &options, &plan, NULL));
  options.device = "cpu";
  options.flags = 8;
  CHECK_INVALID("0x8", tarsia_plan_create(module, &options, &plan, NULL));
  options.size = 8;
  CHECK_INVALID("options.size", tarsia_plan_create(module, &options, &plan, NULL));
  tarsia_module_destroy(module);

  module = Module("kernel a()\n{\n}\nkernel b()\n{\n}\n");
  CHECK_INVALID("2 kernels", tarsia_plan_create(module, NULL, &plan, NULL));
  tarsia_module_destroy(module);
}

/* ---- queries and execution ----------------------------------------------------------------- */

static void TestQuery(void) {
  tarsia_plan* plan = ScalePlan();
  tarsia_arg args[] = {tarsia_arg_const_pointer(NULL, 0), tarsia_arg_pointer(NULL, 0),
                       tarsia_arg_i32(21), tarsia_arg_f32(0.5f)};
  tarsia_query* query = NULL;
  CHECK_OK(tarsia_query_create(plan, args, 4, &query));
  SIZED(tarsia_geometry, geometry);
  CHECK_OK(tarsia_query_geometry(query, &geometry));
  CHECK(geometry.grid[0] == 3 && geometry.grid[1] == 1 && geometry.grid[2] == 1);
  CHECK(geometry.warps == 4 && geometry.threads == 128 && geometry.workspace_bytes == 0);
  CHECK(tarsia_query_view_count(query) == 2);
  SIZED(tarsia_view, view);
  CHECK_OK(tarsia_query_view(query, 0, &view));
  CHECK(view.param == 0 && view.dtype == TARSIA_DTYPE_F32 && view.rank == 1);
  CHECK(view.shape[0] == 21 && view.bytes == 84 && view.row_major && !view.writes);
  CHECK(view.line == 9 && view.unconditional && strlen(view.text) > 0);
  CHECK_OK(tarsia_query_view(query, 1, &view));
  CHECK(view.param == 1 && view.writes);
  uint64_t bytes = 0;
  CHECK_OK(tarsia_query_pointer_bytes(query, 1, &bytes));
  CHECK(bytes == 84);
  CHECK_INVALID("not a pointer", tarsia_query_pointer_bytes(query, 2, &bytes));
  CHECK_INVALID("`param` is 4", tarsia_query_pointer_bytes(query, 4, &bytes));
  CHECK_INVALID("null", tarsia_query_pointer_bytes(NULL, 0, &bytes));
  CHECK_INVALID("null", tarsia_query_pointer_bytes(query, 0, NULL));
  CHECK_INVALID("`index` is 2", tarsia_query_view(query, 2, &view));
  CHECK_INVALID("null", tarsia_query_view(NULL, 0, &view));
  CHECK_INVALID("null", tarsia_query_view(query, 0, NULL));
  CHECK_INVALID("null", tarsia_query_geometry(NULL, &geometry));
  CHECK_INVALID("null", tarsia_query_geometry(query, NULL));
  CHECK(tarsia_query_view_count(NULL) == 0);
  tarsia_query_destroy(query);
  tarsia_query_destroy(NULL);

  args[2] = tarsia_arg_i32(-1);
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "-1", tarsia_query_create(plan, args, 4, &query));
  CHECK(query == NULL);
  CHECK_INVALID("4 arguments", tarsia_query_create(plan, args, 3, &query));
  CHECK_INVALID("null", tarsia_query_create(plan, NULL, 4, &query));
  CHECK_INVALID("null", tarsia_query_create(NULL, args, 4, &query));
  CHECK_INVALID("null", tarsia_query_create(plan, args, 4, NULL));
  tarsia_plan_destroy(plan);
}

static void TestExecute(void) {
  tarsia_plan* plan = ScalePlan();
  float x[21], y[22];
  for (int i = 0; i < 21; ++i) x[i] = (float)i;
  for (int i = 0; i < 22; ++i) y[i] = -1.0f;
  const tarsia_arg args[] = {tarsia_arg_const_pointer(x, sizeof x),
                             tarsia_arg_pointer(y, 21 * sizeof *y), tarsia_arg_i32(21),
                             tarsia_arg_f32(0.5f)};
  tarsia_report* report = NULL;
  SIZED(tarsia_execute_options, options);
  options.flags = TARSIA_EXECUTE_CHECK;
  CHECK_OK(tarsia_execute(plan, args, 4, NULL, NULL, &options, &report));
  for (int i = 0; i < 21; ++i) CHECK(y[i] == 0.5f * (float)i);
  CHECK(y[21] == -1.0f);
  SIZED(tarsia_report_info, info);
  CHECK_OK(tarsia_report_get(report, &info));
  CHECK(info.blocks == 3 && info.nanoseconds > 0 && info.instructions >= 18);
  CHECK(tarsia_diagnostics_count(tarsia_report_findings(report)) == 0);
  CHECK_INVALID("null", tarsia_report_get(NULL, &info));
  CHECK_INVALID("null", tarsia_report_get(report, NULL));
  CHECK(tarsia_report_findings(NULL) == NULL);
  tarsia_report_destroy(report);
  tarsia_report_destroy(NULL);
  CHECK_OK(tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  tarsia_plan_destroy(plan);
}

static void TestExecuteMisuse(void) {
  tarsia_plan* plan = ScalePlan();
  float x[16] = {0}, y[16] = {0};
  tarsia_arg args[] = {tarsia_arg_const_pointer(x, sizeof x), tarsia_arg_pointer(y, sizeof y),
                       tarsia_arg_i32(16), tarsia_arg_f32(2.0f)};
  const tarsia_arg good[] = {args[0], args[1], args[2], args[3]};
  tarsia_report* report = NULL;
  SIZED(tarsia_execute_options, options);
  CHECK_INVALID("`plan` is null", tarsia_execute(NULL, args, 4, NULL, NULL, NULL, NULL));
  CHECK_INVALID("`args` is null", tarsia_execute(plan, NULL, 4, NULL, NULL, NULL, &report));
  CHECK_INVALID("4 arguments", tarsia_execute(plan, args, 5, NULL, NULL, NULL, NULL));
  CHECK_INVALID("4 arguments", tarsia_execute(plan, NULL, 0, NULL, NULL, NULL, NULL));
  CHECK_INVALID("stream", tarsia_execute(plan, args, 4, NULL, x, NULL, NULL));
  args[2] = tarsia_arg_i64(16);
  CHECK_INVALID("`%n` is i32", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[2] = tarsia_arg_pointer(x, 4);
  CHECK_INVALID("`%n` is a scalar", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[2] = good[2];
  args[0] = tarsia_arg_u32(1);
  CHECK_INVALID("`%x` is a pointer", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[0] = tarsia_arg_const_pointer(x, 63);
  CHECK_INVALID("63", tarsia_execute(plan, args, 4, NULL, NULL, NULL, &report));
  CHECK(report == NULL && strstr(tarsia_last_error(), "64") != NULL);
  args[0] = tarsia_arg_const_pointer(NULL, 64);
  CHECK_INVALID("null", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[0] = good[0];
  args[1] = tarsia_arg_const_pointer(y, sizeof y);
  CHECK_INVALID("read-only", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[1] = good[1];
  args[1].kind = (tarsia_arg_kind)9;
  CHECK_INVALID("tarsia_arg_kind", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[1] = good[1];
  args[1].size = 0;
  CHECK_INVALID("sizes", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[0].size = 0;
  CHECK_INVALID("`args.size` is 0", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  options.flags = 0x80;
  CHECK_INVALID("0x80", tarsia_execute(plan, good, 4, NULL, NULL, &options, NULL));
  options.size = 2;
  CHECK_INVALID("options.size", tarsia_execute(plan, good, 4, NULL, NULL, &options, NULL));
  /* No argument of a wrong call was written to. */
  for (int i = 0; i < 16; ++i) CHECK(y[i] == 0.0f);
  /* Pointers are aligned to 16 bytes. */
  _Alignas(16) char raw[80];
  args[0] = tarsia_arg_const_pointer(x, sizeof x);
  args[1] = tarsia_arg_pointer(raw + 8, 64);
  CHECK_INVALID("is not a multiple of 16 bytes",
                tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[1] = tarsia_arg_pointer(raw + 16, 64);
  CHECK_OK(tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  /* Nothing to do: a grid of zero blocks, null pointers of zero bytes. */
  args[0] = tarsia_arg_pointer(NULL, 0);
  args[1] = tarsia_arg_pointer(NULL, 0);
  args[2] = tarsia_arg_i32(0);
  CHECK_OK(tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  tarsia_plan_destroy(plan);
}

struct Lines {
  int count;
  char last[200];
};
static void TakeLine(void* user, const char* text, size_t size) {
  struct Lines* const lines = user;
  CHECK(text[size] == '\0');
  ++lines->count;
  snprintf(lines->last, sizeof lines->last, "%s", text);
}

static void TestPrintAndTrace(void) {
  tarsia_module* module = Module(kStop);
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, NULL, &plan, NULL));
  struct Lines printed = {0, ""}, traced = {0, ""};
  SIZED(tarsia_execute_options, options);
  options.print = TakeLine;
  options.print_user = &printed;
  options.trace = TakeLine;
  options.trace_user = &traced;
  tarsia_arg n = tarsia_arg_i32(0);
  CHECK_OK(tarsia_execute(plan, &n, 1, NULL, NULL, &options, NULL));
  CHECK(printed.count == 1 && strstr(printed.last, "n") != NULL);
  CHECK(traced.count >= 2);
  options.trace_value = "nope";
  CHECK_INVALID("`%nope`", tarsia_execute(plan, &n, 1, NULL, NULL, &options, NULL));

  /* The assertion stops the program; the report says where. */
  tarsia_report* report = NULL;
  n = tarsia_arg_i32(7);
  CHECK_FAILS(TARSIA_STATUS_LAUNCH_FAILED, "n must be zero",
              tarsia_execute(plan, &n, 1, NULL, NULL, NULL, &report));
  SIZED(tarsia_diagnostic, one);
  CHECK(tarsia_diagnostics_count(tarsia_report_findings(report)) == 1);
  CHECK_OK(tarsia_diagnostics_get(tarsia_report_findings(report), 0, &one));
  CHECK(one.line == 3 && strcmp(one.id, "assert-failed") == 0);
  tarsia_report_destroy(report);
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
}

static void TestLimit(void) {
  tarsia_module* module = Module("kernel spin()\n{\n  %t = mov true\n  while %t {\n  }\n}\n");
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, NULL, &plan, NULL));
  SIZED(tarsia_execute_options, options);
  options.max_instructions = 1000;
  CHECK_FAILS(TARSIA_STATUS_LAUNCH_FAILED, "1000",
              tarsia_execute(plan, NULL, 0, NULL, NULL, &options, NULL));
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
}

struct Progress {
  int calls;
  uint64_t done, total;
};
static void TakeProgress(void* user, uint64_t done, uint64_t total) {
  struct Progress* const progress = user;
  CHECK(done >= progress->done && done <= total);
  CHECK(progress->calls == 0 || total == progress->total);
  ++progress->calls;
  progress->done = done;
  progress->total = total;
}

/* A launch that takes long says how far it is; one that does not is left alone. */
static void TestProgress(void) {
  tarsia_module* module = Module(
      "kernel spin(%n: i32)\n  grid (%n)\n{\n  for %i = 0 to 10000 {\n    %x = mov %i\n  }\n}\n");
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, NULL, &plan, NULL));
  struct Progress progress = {0, 0, 0};
  SIZED(tarsia_execute_options, options);
  options.progress = TakeProgress;
  options.progress_user = &progress;
  tarsia_arg n = tarsia_arg_i32(1);
  CHECK_OK(tarsia_execute(plan, &n, 1, NULL, NULL, &options, NULL));
  CHECK(progress.calls == 0);
  /* However fast this machine is, some number of blocks takes long enough. */
  int32_t blocks = 1000;
  while (progress.calls == 0 && blocks < 1000000000) {
    progress.done = 0;
    n = tarsia_arg_i32(blocks *= 2);
    CHECK_OK(tarsia_execute(plan, &n, 1, NULL, NULL, &options, NULL));
  }
  CHECK(progress.calls > 0 && progress.done > 0 && progress.total == (uint64_t)blocks);
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
}

/* What is read before anybody wrote it. */
static void TestFindings(void) {
  tarsia_module* module = Module(
      "kernel k(%y: ptr<f32>)\n{\n  %s = alloc.shared : f32[4]\n  %t = load %s[0] : [4]\n"
      "  %g = view %y : global<f32>[4]\n  store %g[0], %t\n}\n");
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, NULL, &plan, NULL));
  float y[4] = {0};
  const tarsia_arg arg = tarsia_arg_pointer(y, sizeof y);
  SIZED(tarsia_execute_options, options);
  options.flags = TARSIA_EXECUTE_CHECK;
  tarsia_report* report = NULL;
  CHECK_FAILS(TARSIA_STATUS_FINDINGS,
              "test.tsa:4:", tarsia_execute(plan, &arg, 1, NULL, NULL, &options, &report));
  SIZED(tarsia_diagnostic, one);
  CHECK_OK(tarsia_diagnostics_get(tarsia_report_findings(report), 0, &one));
  CHECK(one.line == 4 && one.note_count >= 1);
  SIZED(tarsia_note, note);
  CHECK_OK(tarsia_diagnostics_note(tarsia_report_findings(report), 0, 0, &note));
  CHECK(strlen(note.message) > 0);
  tarsia_report_destroy(report);
  tarsia_plan_destroy(plan);
  tarsia_module_destroy(module);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* Modules, plans and launches of their own on each thread, and one plan that all share. */
static void* Work(void* shared) {
  static char failed;
  for (int round = 0; round < 20; ++round) {
    tarsia_plan* plan = ScalePlan();
    float x[9], y[9];
    for (int i = 0; i < 9; ++i) x[i] = (float)(i + round);
    const tarsia_arg args[] = {tarsia_arg_const_pointer(x, sizeof x),
                               tarsia_arg_pointer(y, sizeof y), tarsia_arg_i32(9),
                               tarsia_arg_f32(2.0f)};
    const tarsia_plan* const with = round % 2 == 0 ? plan : (const tarsia_plan*)shared;
    if (tarsia_execute(with, args, 4, NULL, NULL, NULL, NULL) != TARSIA_STATUS_OK) return &failed;
    for (int i = 0; i < 9; ++i) {
      if (y[i] != 2.0f * x[i]) return &failed;
    }
    tarsia_plan_destroy(plan);
    /* The last error is this thread's own. */
    if (tarsia_dtype_find(round % 2 == 0 ? "aaa" : "bbb", NULL) == TARSIA_STATUS_OK) return &failed;
  }
  return NULL;
}

static void TestThreads(void) {
  tarsia_plan* shared = ScalePlan();
  pthread_t threads[4]; /* not C11's threads, which ThreadSanitizer does not know */
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, Work, shared) == 0);
  for (int i = 0; i < 4; ++i) {
    void* failed = shared;
    CHECK(pthread_join(threads[i], &failed) == 0 && failed == NULL);
  }
  tarsia_plan_destroy(shared);
}

int main(void) {
  CHECK(strcmp(tarsia_last_error(), "") == 0);
  TestVersion();
  TestLog();
  TestDTypes();
  TestValues();
  TestModule();
  TestEncodings();
  TestHostileBytecode();
  TestDiagnostics();
  TestModuleMisuse();
  TestFormat();
  TestLibrary();
  TestDevices();
  TestPlan();
  TestPlanMisuse();
  TestQuery();
  TestExecute();
  TestExecuteMisuse();
  TestPrintAndTrace();
  TestLimit();
  TestProgress();
  TestFindings();
  TestThreads();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
