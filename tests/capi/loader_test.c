/* A client of libtarsia_loader: loads what loader_make saved and executes it on the emulated GPU
 * and on the interpreter, in a process without a compiler: loader_test PLAN LAYER WEIGHTS. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define CHECK_WITHOUT_MODULES
#include "tests/capi/check.h"

enum { kCount = 70 };

/* Whether a library whose name has the text in it is mapped into this process. */
static int IsMapped(const char* text) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int found = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    found = found || strstr(line, text) != NULL;
  }
  CHECK(maps != NULL);
  if (maps != NULL) fclose(maps);
  return found;
}

static void Execute(const char* device_name, const char* path) {
  tarsia_device* device = NULL;
  tarsia_plan* plan = NULL;
  CHECK_OK(tarsia_device_open(device_name, &device));
  CHECK_OK(tarsia_plan_load_file(device, path, &plan));
  if (plan == NULL) return;
  float x[kCount], y[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = (float)i;
  void *gx = NULL, *gy = NULL, *workspace = NULL, *stream = NULL;
  CHECK_OK(tarsia_stream_create(device, &stream));
  CHECK_OK(tarsia_memory_alloc(device, sizeof x, &gx));
  CHECK_OK(tarsia_memory_alloc(device, sizeof y, &gy));
  CHECK_OK(tarsia_memory_write(device, gx, x, sizeof x, stream));
  tarsia_arg args[] = {tarsia_arg_const_pointer(gx, sizeof x), tarsia_arg_pointer(gy, sizeof y),
                       tarsia_arg_i32(kCount), tarsia_arg_f32(0.5f)};
  tarsia_query* query = NULL;
  tarsia_geometry geometry = {.size = sizeof geometry};
  CHECK_OK(tarsia_query_create(plan, args, 4, &query));
  CHECK_OK(tarsia_query_geometry(query, &geometry));
  tarsia_query_destroy(query);
  CHECK(geometry.grid[0] == 3);
  CHECK_OK(tarsia_memory_alloc(device, geometry.workspace_bytes, &workspace));
  CHECK_OK(tarsia_workspace_init(plan, args, 4, workspace, geometry.workspace_bytes, stream));
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(tarsia_execute(plan, args, 4, workspace, stream, NULL, NULL));
  }
  CHECK_OK(tarsia_memory_read(device, y, gy, sizeof y, stream));
  int right = 0;
  for (int i = 0; i < kCount; ++i) right += y[i] == 0.5f * (float)i ? 1 : 0;
  CHECK(right == kCount);
  args[2] = tarsia_arg_i32(kCount - 1);
  CHECK(tarsia_execute(plan, args, 4, workspace, stream, NULL, NULL) ==
        TARSIA_STATUS_INVALID_ARGUMENT);
  CHECK_OK(tarsia_memory_free(device, workspace));
  CHECK_OK(tarsia_memory_free(device, gx));
  CHECK_OK(tarsia_memory_free(device, gy));
  CHECK_OK(tarsia_stream_destroy(device, stream));
  tarsia_plan_destroy(plan);
  tarsia_device_close(device);
}

/* Two rows of x pick rows 3 and 14 of the weights, which are -4 and 7. */
static void ExecuteLayer(const char* device_name, const char* path, const char* weights_path) {
  enum { kM = 2, kK = 64, kN = 32 };
  static float picks[kM * kK];
  static uint16_t x[kM * kK]; /* f16 */
  picks[3] = picks[kK + 14] = 1;
  CHECK_OK(tarsia_dtype_cast(TARSIA_DTYPE_F32, picks, TARSIA_DTYPE_F16, x, kM * kK));
  tarsia_device* device = NULL;
  tarsia_weights* weights = NULL;
  tarsia_matmul_plan* plan = NULL;
  CHECK_OK(tarsia_device_open(device_name, &device));
  CHECK_OK(tarsia_weights_load(weights_path, &weights));
  CHECK_OK(tarsia_matmul_plan_load_file(device, path, &plan));
  if (plan == NULL || weights == NULL) return;
  tarsia_matmul_plan_info info = {.size = sizeof info};
  CHECK_OK(tarsia_matmul_plan_get(plan, &info));
  tarsia_matmul_args args = {.size = sizeof args, .m = kM, .x_bytes = sizeof x};
  args.workspace_bytes = info.workspace_bytes;
  float y[kM * kN];
  args.y_bytes = sizeof y;
  const void* image = NULL;
  CHECK_OK(tarsia_weights_image(weights, &image, &args.weights_bytes));
  const tarsia_weights* const pieces[] = {weights};
  tarsia_weights* same = NULL; /* one part of one */
  CHECK_OK(tarsia_weights_shard(pieces, 1, false, 0, 1, &same));
  const void* again = NULL;
  uint64_t bytes = 0;
  CHECK_OK(tarsia_weights_image(same, &again, &bytes));
  CHECK(bytes == args.weights_bytes && memcmp(again, image, bytes) == 0);
  tarsia_weights_destroy(same);
  void *gx = NULL, *gw = NULL;
  CHECK_OK(tarsia_memory_alloc(device, sizeof x, &gx));
  CHECK_OK(tarsia_memory_alloc(device, args.weights_bytes, &gw));
  CHECK_OK(tarsia_memory_alloc(device, sizeof y, &args.y));
  CHECK_OK(tarsia_memory_alloc(device, args.workspace_bytes, &args.workspace));
  CHECK_OK(tarsia_memory_write(device, gx, x, sizeof x, NULL));
  CHECK_OK(tarsia_memory_write(device, gw, image, args.weights_bytes, NULL));
  args.x = gx;
  args.weights = gw;
  CHECK_OK(tarsia_matmul_workspace_init(plan, args.workspace, args.workspace_bytes, NULL));
  CHECK_OK(tarsia_matmul_execute(plan, &args, NULL));
  CHECK_OK(tarsia_memory_read(device, y, args.y, sizeof y, NULL));
  int right = 0;
  for (int i = 0; i < kM * kN; ++i) right += y[i] == (i < kN ? -4.0f : 7.0f) ? 1 : 0;
  CHECK(right == kM * kN);
  CHECK_OK(tarsia_memory_free(device, gx));
  CHECK_OK(tarsia_memory_free(device, gw));
  CHECK_OK(tarsia_memory_free(device, args.y));
  CHECK_OK(tarsia_memory_free(device, args.workspace));
  tarsia_matmul_plan_destroy(plan);
  tarsia_weights_destroy(weights);
  tarsia_device_close(device);
}

int main(int argc, char** argv) {
  CHECK(argc == 4);
  if (argc != 4) return 1;
  Execute("cuda", argv[1]);
  Execute("cpu", argv[1]);
  ExecuteLayer("cuda", argv[2], argv[3]);
  ExecuteLayer("cpu", argv[2], argv[3]);
  CHECK(IsMapped("libtarsia_loader"));
  CHECK(!IsMapped("LLVM"));
  CHECK(!IsMapped("libtarsia.so"));
  CHECK(dlsym(RTLD_DEFAULT, "LLVMContextCreate") == NULL);
  CHECK(dlsym(RTLD_DEFAULT, "tarsia_plan_create") == NULL);
  CHECK(dlsym(RTLD_DEFAULT, "tarsia_matmul_plan_create") == NULL);
  return failures == 0 ? 0 : 1;
}
