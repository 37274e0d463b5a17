/* A client of the C API that runs kernels in the memory of a device: device_test DEVICE. The same
 * program for every device, wrong calls included. Prints what fails; exits with 1 then. */
#include <stdlib.h>

#include "tarsia/tarsia.h"
#include "tests/capi/memory.h"

static const char* device_name;
static bool is_cpu;
static tarsia_device* device;

static tarsia_plan* Plan(const char* text) {
  tarsia_module* module = Module(text);
  SIZED(tarsia_plan_options, options);
  options.device = device_name;
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_plan_create(module, &options, &plan, NULL));
  tarsia_module_destroy(module);
  return plan;
}

/* What a plan needs beside the arguments, ready to use. */
static void* Workspace(const tarsia_plan* plan, const tarsia_arg* args, size_t count) {
  tarsia_query* query = NULL;
  CHECK_OK(tarsia_query_create(plan, args, count, &query));
  SIZED(tarsia_geometry, geometry);
  CHECK_OK(tarsia_query_geometry(query, &geometry));
  tarsia_query_destroy(query);
  if (geometry.workspace_bytes == 0) {
    CHECK_OK(tarsia_workspace_init(plan, args, count, NULL, 0, NULL));
    return NULL;
  }
  CHECK(!is_cpu);
  void* const workspace = Allocate(device, geometry.workspace_bytes);
  CHECK_INVALID("are needed", tarsia_workspace_init(plan, args, count, workspace,
                                                    geometry.workspace_bytes - 1, NULL));
  CHECK_INVALID("null",
                tarsia_workspace_init(plan, args, count, NULL, geometry.workspace_bytes, NULL));
  CHECK_OK(tarsia_workspace_init(plan, args, count, workspace, geometry.workspace_bytes, NULL));
  return workspace;
}

/* ---- devices and memory -------------------------------------------------------------------- */

static void TestOpen(void) {
  tarsia_device* again = NULL;
  CHECK_OK(tarsia_device_open(tarsia_device_name(device), &again));
  CHECK(strcmp(tarsia_device_name(again), tarsia_device_name(device)) == 0);
  tarsia_device_close(again);
  tarsia_device_close(NULL);
  CHECK(strcmp(tarsia_device_name(NULL), "") == 0);
  CHECK_INVALID("null", tarsia_device_open(device_name, NULL));
  again = device;
  CHECK_INVALID("`toaster`", tarsia_device_open("toaster", &again));
  CHECK(again == NULL);
  CHECK_INVALID("`sm_1`", tarsia_device_open("ptx:sm_1", &again));
  CHECK_INVALID("`cuda:`", tarsia_device_open("cuda:", &again));
  CHECK_INVALID("`cuda:1x`", tarsia_device_open("cuda:1x", &again));
  CHECK_FAILS(TARSIA_STATUS_NO_DEVICE, "", tarsia_device_open("cuda:999", &again));
}

static void TestMemory(void) {
  uint8_t in[1000], out[1000];
  for (int i = 0; i < 1000; ++i) in[i] = (uint8_t)(i * 7);
  uint8_t* const memory = Upload(device, in, sizeof in);
  CHECK_OK(tarsia_memory_fill(device, memory + 10, 0xAB, 5, NULL));
  memset(out, 0, sizeof out);
  CHECK_OK(tarsia_memory_read(device, out, memory, sizeof out, NULL));
  for (int i = 0; i < 1000; ++i) CHECK(out[i] == (i >= 10 && i < 15 ? 0xAB : in[i]));
  CHECK_OK(tarsia_memory_free(device, memory));
  CHECK_OK(tarsia_memory_free(device, NULL));
  void* none = memory;
  CHECK_OK(tarsia_memory_alloc(device, 0, &none));
  CHECK(none == NULL);
  CHECK_OK(tarsia_memory_write(device, NULL, NULL, 0, NULL));
  CHECK_INVALID("`to`", tarsia_memory_write(device, NULL, in, 1, NULL));
  CHECK_INVALID("`from`", tarsia_memory_read(device, out, NULL, 1, NULL));
  CHECK_INVALID("`to`", tarsia_memory_fill(device, NULL, 0, 1, NULL));
  CHECK_INVALID("`device`", tarsia_memory_fill(NULL, memory, 0, 1, NULL));
  CHECK_INVALID("`device`", tarsia_memory_alloc(NULL, 1, &none));
  CHECK_INVALID("`out`", tarsia_memory_alloc(device, 1, NULL));
  CHECK_FAILS(TARSIA_STATUS_OUT_OF_MEMORY, "",
              tarsia_memory_alloc(device, (uint64_t)1 << 60, &none));
  CHECK(none == NULL);
}

static void TestStreams(void) {
  void* stream = device;
  CHECK_OK(tarsia_stream_create(device, &stream));
  CHECK_OK(tarsia_stream_synchronize(device, stream));
  CHECK_OK(tarsia_stream_synchronize(device, NULL));
  CHECK_OK(tarsia_stream_destroy(device, stream));
  CHECK_INVALID("`out`", tarsia_stream_create(device, NULL));
  CHECK_INVALID("`device`", tarsia_stream_create(NULL, &stream));
  CHECK_INVALID("`device`", tarsia_stream_synchronize(NULL, NULL));
}

/* ---- launches ------------------------------------------------------------------------------ */

static const char kScale[] =
    "kernel scale(%x: ptr<f32>, %y: ptr<f32>, %n: i32, %a: f32)\n"
    "  grid (ceildiv(%n, 8))\n"
    "{\n"
    "  %b = block.x\n"
    "  %i = mul %b, 8\n"
    "  %gx = view %x : global<f32>[%n]\n"
    "  %t = load %gx[%i] : [8]\n"
    "  %s = mul %t, %a\n"
    "  %gy = view %y : global<f32>[%n]\n"
    "  store %gy[%i], %s\n"
    "}\n";

static void TestLaunch(void) {
  tarsia_plan* const plan = Plan(kScale);
  SIZED(tarsia_plan_info, info);
  CHECK_OK(tarsia_plan_get(plan, &info));
  CHECK(strcmp(info.device, tarsia_device_name(device)) == 0);
  float x[21], y[22];
  for (int i = 0; i < 21; ++i) x[i] = (float)i;
  for (int i = 0; i < 22; ++i) y[i] = -1.0f;
  void* const gx = Upload(device, x, sizeof x);
  void* const gy = Upload(device, y, sizeof y);
  tarsia_arg args[] = {tarsia_arg_const_pointer(gx, sizeof x),
                       tarsia_arg_pointer(gy, 21 * sizeof *y), tarsia_arg_i32(21),
                       tarsia_arg_f32(0.5f)};
  tarsia_report* report = NULL;
  CHECK_OK(tarsia_execute(plan, args, 4, NULL, NULL, NULL, &report));
  SIZED(tarsia_report_info, done);
  CHECK_OK(tarsia_report_get(report, &done));
  CHECK(done.blocks == 3 && done.nanoseconds > 0);
  tarsia_report_destroy(report);
  CHECK_OK(tarsia_memory_read(device, y, gy, sizeof y, NULL));
  for (int i = 0; i < 21; ++i) CHECK(y[i] == 0.5f * (float)i);
  CHECK(y[21] == -1.0f);

  /* On a stream, not waited for. */
  void* stream = NULL;
  CHECK_OK(tarsia_stream_create(device, &stream));
  args[3] = tarsia_arg_f32(3.0f);
  CHECK_OK(tarsia_execute(plan, args, 4, NULL, stream, NULL, NULL));
  CHECK_OK(tarsia_stream_synchronize(device, stream));
  CHECK_OK(tarsia_memory_read(device, y, gy, sizeof y, stream));
  for (int i = 0; i < 21; ++i) CHECK(y[i] == 3.0f * (float)i);
  CHECK_OK(tarsia_stream_destroy(device, stream));

  /* Nothing to do. */
  args[2] = tarsia_arg_i32(0);
  CHECK_OK(tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));

  /* Wrong calls. */
  if (strncmp(tarsia_device_name(device), "cuda", 4) != 0) {
    CHECK_INVALID("`stream`", tarsia_execute(plan, args, 4, NULL, device, NULL, NULL));
  }
  args[2] = tarsia_arg_i32(22);
  CHECK_INVALID("84 bytes", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[2] = tarsia_arg_u32(21);
  CHECK_INVALID("`%n`", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
  args[2] = tarsia_arg_i32(21);
  CHECK_INVALID("takes 4", tarsia_execute(plan, args, 3, NULL, NULL, NULL, NULL));
  args[1].kind = TARSIA_ARG_CONST_POINTER;
  if (!is_cpu) { /* the interpreter notices at the write */
    CHECK_INVALID("read-only", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
    args[1] = tarsia_arg_pointer((char*)gy + 1, 21 * sizeof *y);
    CHECK_INVALID("multiple of", tarsia_execute(plan, args, 4, NULL, NULL, NULL, NULL));
    args[1] = tarsia_arg_pointer(gy, sizeof y);
    SIZED(tarsia_execute_options, options);
    options.trace_block[0] = 1;
    options.trace = (tarsia_text_fn)NULL;
    CHECK_OK(tarsia_execute(plan, args, 4, NULL, NULL, &options, NULL));
  }
  CHECK_OK(tarsia_memory_free(device, gx));
  CHECK_OK(tarsia_memory_free(device, gy));
  tarsia_plan_destroy(plan);
}

/* Compiled code needs the alignment of the elements, even if the kernel assumes less. The
 * interpreter needs what the kernel assumes. */
static void TestAlignment(void) {
  tarsia_plan* const plan = Plan(
      "kernel k(%y: ptr<f32>)\n  assume %y align 1\n{\n"
      "  %g = view %y : global<f32>[4]\n"
      "  %t = fill 1.5 : f32 [4]\n"
      "  store %g[0], %t\n"
      "}\n");
  char* const memory = Allocate(device, 32);
  for (int offset = 0; offset <= 4; ++offset) {
    const tarsia_arg y = tarsia_arg_pointer(memory + offset, 16);
    if (is_cpu || offset % 4 == 0) {
      CHECK_OK(tarsia_execute(plan, &y, 1, NULL, NULL, NULL, NULL));
    } else {
      CHECK_INVALID("is not a multiple of 4 bytes",
                    tarsia_execute(plan, &y, 1, NULL, NULL, NULL, NULL));
    }
  }
  CHECK_OK(tarsia_memory_free(device, memory));
  tarsia_plan_destroy(plan);
}

/* ---- reports ------------------------------------------------------------------------------- */

struct Lines {
  int count;
  char first[200];
};
static void TakeLine(void* user, const char* text, size_t size) {
  struct Lines* const lines = user;
  CHECK(text[size] == '\0');
  if (lines->count++ == 0) snprintf(lines->first, sizeof lines->first, "%s", text);
}

static const char kStop[] =
    "kernel stop(%n: i32)\n"
    "  grid (2)\n"
    "{\n"
    "  %b = block.x\n"
    "  %s = add %b, 40\n"
    "  print \"s\", %s\n"
    "  assert %n == 0, \"n must be zero\"\n"
    "}\n";

static void TestReports(void) {
  tarsia_plan* const plan = Plan(kStop);
  tarsia_arg n = tarsia_arg_i32(0);
  void* const workspace = Workspace(plan, &n, 1);
  struct Lines lines = {0, ""};
  SIZED(tarsia_execute_options, options);
  options.print = TakeLine;
  options.print_user = &lines;
  options.threads = 1;
  CHECK_OK(tarsia_execute(plan, &n, 1, workspace, NULL, &options, NULL));
  CHECK(lines.count == 2);
  CHECK(strcmp(lines.first, "(0, 0, 0) s = 40") == 0 ||
        strcmp(lines.first, "(1, 0, 0) s = 41") == 0);

  tarsia_report* report = NULL;
  n = tarsia_arg_i32(7);
  CHECK_FAILS(TARSIA_STATUS_LAUNCH_FAILED, "block (0, 0, 0): n must be zero",
              tarsia_execute(plan, &n, 1, workspace, NULL, NULL, &report));
  SIZED(tarsia_diagnostic, one);
  CHECK_OK(tarsia_diagnostics_get(tarsia_report_findings(report), 0, &one));
  CHECK(one.line == 7 && strcmp(one.id, "assert-failed") == 0);
  tarsia_report_destroy(report);

  /* The workspace is ready again. */
  n = tarsia_arg_i32(0);
  lines.count = 0;
  CHECK_OK(tarsia_execute(plan, &n, 1, workspace, NULL, &options, NULL));
  CHECK(lines.count == 2);
  CHECK_OK(tarsia_workspace_report(plan, &n, 1, workspace, NULL, NULL, NULL));
  if (!is_cpu) {
    CHECK_INVALID("workspace of", tarsia_execute(plan, &n, 1, NULL, NULL, NULL, NULL));
    CHECK_INVALID("multiple of",
                  tarsia_execute(plan, &n, 1, (char*)workspace + 8, NULL, NULL, NULL));
  }
  CHECK_OK(tarsia_memory_free(device, workspace));
  tarsia_plan_destroy(plan);
}

/* Blocks add into scratch that was zero and is left zero: launches may follow one another. */
static void TestScratch(void) {
  tarsia_plan* const plan = Plan(
      "kernel k(%y: ptr<i32>)\n{\n"
      "  %s = alloc.global zeroed : i32 [4]\n"
      "  %g = view %y : global<i32>[4]\n"
      "  %o = fill 5 : i32 [4]\n"
      "  %t = load %s[0] : [4]\n"
      "  %u = add %t, %o\n"
      "  store %g[0], %u\n"
      "}\n");
  int32_t y[4] = {0};
  void* const gy = Upload(device, y, sizeof y);
  const tarsia_arg arg = tarsia_arg_pointer(gy, sizeof y);
  void* const workspace = Workspace(plan, &arg, 1);
  for (int round = 0; round < 2; ++round) {
    CHECK_OK(tarsia_execute(plan, &arg, 1, workspace, NULL, NULL, NULL));
    CHECK_OK(tarsia_memory_read(device, y, gy, sizeof y, NULL));
    for (int i = 0; i < 4; ++i) CHECK(y[i] == 5);
  }
  CHECK_OK(tarsia_memory_free(device, workspace));
  CHECK_OK(tarsia_memory_free(device, gy));
  tarsia_plan_destroy(plan);
}

/* ---- code ---------------------------------------------------------------------------------- */

static void CheckText(const tarsia_code* code, tarsia_code_form form, const char* part) {
  tarsia_blob* blob = NULL;
  CHECK_OK(tarsia_code_emit(code, form, &blob));
  CHECK(blob != NULL && strstr(tarsia_blob_data(blob), part) != NULL);
  tarsia_blob_destroy(blob);
}

static void CheckCode(const tarsia_code* code) {
  SIZED(tarsia_code_info, info);
  CHECK_OK(tarsia_code_get(code, &info));
  CHECK(strcmp(info.entry, "scale") == 0 && info.threads == 128 && info.ptx_bytes > 100);
  CheckText(code, TARSIA_CODE_PTX, ".visible .entry scale(");
  CheckText(code, TARSIA_CODE_PTX, info.target);
  CheckText(code, TARSIA_CODE_LLVM, "define ");
  CheckText(code, TARSIA_CODE_LAYOUTS, "kernel scale");
  CheckText(code, TARSIA_CODE_FACTS, "kernel scale");
  tarsia_blob* blob = NULL;
  CHECK_INVALID("`form`", tarsia_code_emit(code, (tarsia_code_form)77, &blob));
  CHECK_INVALID("`code`", tarsia_code_emit(NULL, TARSIA_CODE_PTX, &blob));
  CHECK_INVALID("`out`", tarsia_code_emit(code, TARSIA_CODE_PTX, NULL));
  SIZED(tarsia_code_resources, resources);
  const tarsia_status status = tarsia_code_assemble(code, &resources);
  if (status == TARSIA_STATUS_NO_DEVICE) {
    printf("no ptxas: skipped machine code\n");
    return;
  }
  CHECK_OK(status);
  CHECK(resources.registers > 0 && resources.cubin_bytes > 100 && resources.warning_count == 0);
  CheckText(code, TARSIA_CODE_CUBIN, "\177ELF");
  CheckText(code, TARSIA_CODE_SASS, "EXIT");
  CheckText(code, TARSIA_CODE_MIX, "main loop");
}

static void TestCode(void) {
  tarsia_plan* const plan = Plan(kScale);
  tarsia_code* code = NULL;
  if (is_cpu) {
    CHECK_FAILS(TARSIA_STATUS_UNSUPPORTED, "no code", tarsia_plan_code(plan, &code));
  } else {
    CHECK_OK(tarsia_plan_code(plan, &code));
    CheckCode(code);
    tarsia_code_destroy(code);
  }
  tarsia_plan_destroy(plan);
  tarsia_module* const module = Module(kScale);
  CHECK(tarsia_target_count() >= 3);
  CHECK(tarsia_target_name(tarsia_target_count()) == NULL);
  for (size_t i = 0; i < tarsia_target_count(); ++i) {
    SIZED(tarsia_code_options, options);
    options.target = tarsia_target_name(i);
    CHECK_OK(tarsia_code_create(module, &options, &code, NULL));
    CheckCode(code);
    tarsia_code_destroy(code);
  }
  SIZED(tarsia_code_options, options);
  CHECK_INVALID("`options.target`", tarsia_code_create(module, &options, &code, NULL));
  options.target = "sm_70";
  CHECK_INVALID("sm_80, sm_89, sm_90a", tarsia_code_create(module, &options, &code, NULL));
  options.target = "sm_80";
  options.kernel = "scole";
  CHECK_FAILS(TARSIA_STATUS_NOT_FOUND, "scale", tarsia_code_create(module, &options, &code, NULL));
  CHECK_INVALID("`options`", tarsia_code_create(module, NULL, &code, NULL));
  CHECK_INVALID("`module`", tarsia_code_create(NULL, &options, &code, NULL));
  tarsia_module_destroy(module);
}

/* The number of lines of a form of the code. */
static int Lines(const tarsia_code* code, tarsia_code_form form) {
  tarsia_blob* blob = NULL;
  CHECK_OK(tarsia_code_emit(code, form, &blob));
  int lines = 0;
  for (size_t i = 0; i < tarsia_blob_size(blob); ++i) lines += tarsia_blob_data(blob)[i] == '\n';
  tarsia_blob_destroy(blob);
  return lines;
}

/* Passes that are left out: a tile that nothing uses stays. */
static void TestWithout(void) {
  tarsia_module* const module = Module(
      "kernel k(%y: ptr<i32>)\n  warps 1\n{\n  %unused = iota : i32 [8]\n"
      "  %g = view %y : global<i32>[8]\n  %t = fill 1 : i32 [8]\n  store %g[0], %t\n}\n");
  const char* const simplify[] = {"simplify", "simplify"};
  for (size_t count = 0; count < 3; ++count) {
    SIZED(tarsia_code_options, options);
    options.target = "sm_80";
    options.without = simplify;
    options.without_count = count;
    tarsia_code* code = NULL;
    CHECK_OK(tarsia_code_create(module, &options, &code, NULL));
    CHECK(Lines(code, TARSIA_CODE_LAYOUTS) == (count == 0 ? 2 : 3));
    tarsia_code_destroy(code);
    SIZED(tarsia_plan_options, plan_options);
    plan_options.device = device_name;
    plan_options.without = simplify;
    plan_options.without_count = count;
    tarsia_plan* plan = NULL;
    CHECK_OK(tarsia_plan_create(module, &plan_options, &plan, NULL));
    if (!is_cpu) {
      CHECK_OK(tarsia_plan_code(plan, &code));
      CHECK(Lines(code, TARSIA_CODE_LAYOUTS) == (count == 0 ? 2 : 3));
      tarsia_code_destroy(code);
    }
    tarsia_plan_destroy(plan);
  }
  SIZED(tarsia_code_options, options);
  options.target = "sm_80";
  options.without_count = 1;
  tarsia_code* code = NULL;
  CHECK_INVALID("`options.without`", tarsia_code_create(module, &options, &code, NULL));
  const char* const wrong[] = {"build", "simplfy", NULL};
  const char* const messages[] = {"cannot be left out", "is not a pass", "`options.without[]`"};
  for (size_t i = 0; i < 3; ++i) {
    options.without = &wrong[i];
    CHECK_INVALID(messages[i], tarsia_code_create(module, &options, &code, NULL));
    SIZED(tarsia_plan_options, plan_options);
    plan_options.device = device_name;
    plan_options.without = &wrong[i];
    plan_options.without_count = 1;
    tarsia_plan* plan = NULL;
    CHECK_INVALID(messages[i], tarsia_plan_create(module, &plan_options, &plan, NULL));
  }
  tarsia_module_destroy(module);
}

/* A block that no GPU can hold is refused with the line. */
static void TestTooLarge(void) {
  tarsia_module* const module = Module(
      "kernel k(%y: ptr<f32>)\n{\n  %s = alloc.shared : f32 [50000]\n"
      "  %g = view %y : global<f32>[4]\n  %t = load %g[0] : [4]\n  store %s[0], %t\n}\n");
  SIZED(tarsia_code_options, options);
  options.target = "sm_89";
  tarsia_code* code = NULL;
  tarsia_diagnostics* found = NULL;
  CHECK(tarsia_code_create(module, &options, &code, &found) == TARSIA_STATUS_REJECTED);
  CHECK(tarsia_diagnostics_count(found) == 1);
  tarsia_diagnostics_destroy(found);
  tarsia_module_destroy(module);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: device_test DEVICE\n");
    return 2;
  }
  device_name = argv[1];
  is_cpu = strcmp(device_name, "cpu") == 0;
  CHECK_OK(tarsia_device_open(device_name, &device));
  if (device == NULL) return 1;
  TestOpen();
  TestMemory();
  TestStreams();
  TestLaunch();
  TestAlignment();
  TestReports();
  TestScratch();
  TestCode();
  TestWithout();
  TestTooLarge();
  tarsia_device_close(device);
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
