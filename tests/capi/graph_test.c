/* Graphs through the C API: planned below limits, executed on a device in an arena of the caller,
 * with memory and with callbacks; and every wrong call. The device is the argument. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tarsia/tarsia.h"
#include "tests/capi/check.h"

enum { kN = 450, kM = 700 };

static const char kGraph[] =
    "graph product(%x: f32[i:n], %z: f32[j:m], %unused: f32[j:m]) -> f32[i:n], f32\n"
    "  const n: int, m: int\n"
    "{\n"
    "  %e = %x - %z\n"
    "  %y = sum<j>(exp(-%e * %e))\n"
    "  %total = sum<i> %y\n"
    "  return %y, %total\n"
    "}\n";

static const char* device_name = NULL;
static float x[kN], z[kM];

static double Want(int i) {
  double sum = 0;
  for (int j = 0; j < kM; ++j) sum += exp(-((double)x[i] - z[j]) * ((double)x[i] - z[j]));
  return sum;
}

/* No output is further from its formula than the additions of f32 allow: one rounding of the
 * exponential's result and of its argument for each of kM elements. */
static bool IsRight(const float* y) {
  for (int i = 0; i < kN; ++i) {
    if (!(fabs(y[i] - Want(i)) <= 1e-6 * (double)kM)) return false;
  }
  return true;
}

static const tarsia_binding kBindings[] = {{sizeof(tarsia_binding), "n", "450"},
                                           {sizeof(tarsia_binding), "m", "700"}};

static tarsia_graph_plan_options Options(uint64_t limit, tarsia_limit_kind kind) {
  SIZED(tarsia_graph_plan_options, options);
  options.device = device_name;
  options.bindings = kBindings;
  options.binding_count = 2;
  options.limit = limit;
  options.limit_kind = kind;
  return options;
}

static tarsia_graph_plan* PlanOf(uint64_t limit, tarsia_limit_kind kind) {
  tarsia_module* module = Module(kGraph);
  const tarsia_graph_plan_options options = Options(limit, kind);
  tarsia_graph_plan* plan = NULL;
  CHECK_OK(tarsia_graph_plan_create(module, &options, &plan, NULL));
  tarsia_module_destroy(module); /* the plan needs it no more */
  return plan;
}

static void TestModuleOfGraphs(void) {
  tarsia_module* module = Module(kGraph);
  SIZED(tarsia_graph_info, info);
  CHECK(tarsia_module_graph_count(module) == 1);
  CHECK(tarsia_module_graph_count(NULL) == 0);
  CHECK_OK(tarsia_module_graph(module, 0, &info));
  CHECK(strcmp(info.name, "product") == 0 && info.line == 1 && info.column == 7);
  CHECK(info.input_count == 3 && info.output_count == 2);
  CHECK_INVALID("`graph` is 1", tarsia_module_graph(module, 1, &info));
  CHECK_INVALID("`module` is null", tarsia_module_graph(NULL, 0, &info));
  CHECK_INVALID("`out` is null", tarsia_module_graph(module, 0, NULL));
  tarsia_module_destroy(module);
}

static void TestPlanOfGraph(void) {
  tarsia_graph_plan* plan = PlanOf(0, TARSIA_LIMIT_TOTAL);
  SIZED(tarsia_graph_plan_info, info);
  CHECK_OK(tarsia_graph_plan_get(plan, &info));
  CHECK(strcmp(info.graph, "product") == 0);
  CHECK(strncmp(info.device, device_name, strlen(device_name)) == 0);
  CHECK(info.limit == 0 && info.limit_kind == TARSIA_LIMIT_TOTAL);
  CHECK(info.input_count == 3 && info.output_count == 2);
  CHECK(info.kernel_count >= 1 && info.step_count >= info.kernel_count);
  CHECK(info.peak >= sizeof x + sizeof z + sizeof(float));
  SIZED(tarsia_graph_tensor, tensor);
  CHECK_OK(tarsia_graph_plan_input(plan, 1, &tensor));
  CHECK(strcmp(tensor.name, "z") == 0 && tensor.dtype == TARSIA_DTYPE_F32 && tensor.used);
  CHECK(tensor.rank == 1 && tensor.shape[0] == kM && tensor.bytes == sizeof z);
  CHECK_OK(tarsia_graph_plan_input(plan, 2, &tensor));
  CHECK(!tensor.used);
  CHECK_OK(tarsia_graph_plan_output(plan, 1, &tensor));
  CHECK(strcmp(tensor.name, "total") == 0 && tensor.rank == 0 && tensor.bytes == sizeof(float));
  CHECK_INVALID("`index` is 3", tarsia_graph_plan_input(plan, 3, &tensor));
  CHECK_INVALID("`index` is 2", tarsia_graph_plan_output(plan, 2, &tensor));
  CHECK_INVALID("`plan` is null", tarsia_graph_plan_get(NULL, &info));
  CHECK_INVALID("`plan` is null", tarsia_graph_plan_input(NULL, 0, &tensor));
  tarsia_blob* blob = NULL;
  CHECK_OK(tarsia_graph_plan_certificate(plan, &blob));
  CHECK(strstr(tarsia_blob_data(blob), "\"limit\": null") != NULL);
  CHECK(strstr(tarsia_blob_data(blob), "\"name\": \"total\"") != NULL);
  tarsia_blob_destroy(blob);
  CHECK_OK(tarsia_graph_plan_kernels(plan, &blob));
  tarsia_module* kernels = Module(tarsia_blob_data(blob)); /* a program as any other */
  CHECK(tarsia_module_kernel_count(kernels) == info.kernel_count);
  tarsia_module_destroy(kernels);
  tarsia_blob_destroy(blob);
  CHECK_INVALID("`plan` is null", tarsia_graph_plan_certificate(NULL, &blob));
  CHECK_INVALID("`out` is null", tarsia_graph_plan_kernels(plan, NULL));
  tarsia_graph_plan_destroy(plan);
  tarsia_graph_plan_destroy(NULL);
}

/* A limit that is too low is refused with the smallest one that is not, in the diagnostics. Returns
 * it. */
static uint64_t TestSmallestLimit(void) {
  tarsia_module* module = Module(kGraph);
  tarsia_graph_plan_options options = Options(1, TARSIA_LIMIT_TOTAL);
  tarsia_graph_plan* plan = NULL;
  tarsia_diagnostics* found = NULL;
  CHECK(tarsia_graph_plan_create(module, &options, &plan, &found) == TARSIA_STATUS_REJECTED);
  CHECK(plan == NULL && tarsia_diagnostics_count(found) == 1);
  SIZED(tarsia_diagnostic, diagnostic);
  CHECK_OK(tarsia_diagnostics_get(found, 0, &diagnostic));
  CHECK(strcmp(diagnostic.id, "plan-inputs") == 0 && diagnostic.line == 1);
  unsigned long long smallest = 0;
  CHECK(sscanf(diagnostic.help, "smallest limit: %llu bytes", &smallest) == 1);
  tarsia_diagnostics_destroy(found);
  options.limit = smallest;
  CHECK_OK(tarsia_graph_plan_create(module, &options, &plan, &found));
  CHECK(found == NULL);
  SIZED(tarsia_graph_plan_info, info);
  CHECK_OK(tarsia_graph_plan_get(plan, &info));
  CHECK(info.peak == smallest && info.limit == smallest);
  tarsia_graph_plan_destroy(plan);
  options.limit = smallest - 1;
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "smallest limit",
              tarsia_graph_plan_create(module, &options, &plan, NULL));
  tarsia_module_destroy(module);
  return smallest;
}

static void TestPlanMisuse(void) {
  tarsia_module* module = Module(kGraph);
  tarsia_graph_plan* plan = (tarsia_graph_plan*)module;
  tarsia_graph_plan_options options = Options(0, TARSIA_LIMIT_TOTAL);
  CHECK_INVALID("`out` is null", tarsia_graph_plan_create(module, &options, NULL, NULL));
  CHECK_INVALID("`module` is null", tarsia_graph_plan_create(NULL, &options, &plan, NULL));
  CHECK(plan == NULL);
  options.graph = "produkt";
  CHECK_FAILS(TARSIA_STATUS_NOT_FOUND, "did you mean `product`",
              tarsia_graph_plan_create(module, &options, &plan, NULL));
  options = Options(0, (tarsia_limit_kind)7);
  CHECK_INVALID("tarsia_limit_kind", tarsia_graph_plan_create(module, &options, &plan, NULL));
  options = Options(0, TARSIA_LIMIT_TOTAL);
  options.flags = 16;
  CHECK_INVALID("options.flags", tarsia_graph_plan_create(module, &options, &plan, NULL));
  options = Options(0, TARSIA_LIMIT_TOTAL);
  options.device = "nonsense";
  CHECK_INVALID("unknown device `nonsense`",
                tarsia_graph_plan_create(module, &options, &plan, NULL));
  options = Options(0, TARSIA_LIMIT_TOTAL);
  options.binding_count = 1;
  CHECK_FAILS(TARSIA_STATUS_REJECTED, "`m` has no value",
              tarsia_graph_plan_create(module, &options, &plan, NULL));
  options.size = 3;
  CHECK_INVALID("`options.size` is 3", tarsia_graph_plan_create(module, &options, &plan, NULL));
  tarsia_module_destroy(module);
  module = Module("kernel k()\n{\n}\n");
  CHECK(tarsia_module_graph_count(module) == 0);
  CHECK_INVALID("has no graph", tarsia_graph_plan_create(module, NULL, &plan, NULL));
  tarsia_module_destroy(module);
  module = Module("graph a(%x: f32)\n{\n  return %x\n}\ngraph b(%x: f32)\n{\n  return %x\n}\n");
  CHECK_INVALID("the graphs are a, b", tarsia_graph_plan_create(module, NULL, &plan, NULL));
  tarsia_module_destroy(module);
}

/* ---- execution ----------------------------------------------------------------------------- */

static tarsia_graph_input In(const void* data, uint64_t bytes) {
  const tarsia_graph_input input = {.size = sizeof input, .data = data, .bytes = bytes};
  return input;
}

static tarsia_graph_output Out(void* data, uint64_t bytes) {
  const tarsia_graph_output output = {.size = sizeof output, .data = data, .bytes = bytes};
  return output;
}

/* In an arena of the caller, whose surroundings stay as they are. */
static void TestExecuteInArena(uint64_t limit) {
  tarsia_graph_plan* const plan = PlanOf(limit, TARSIA_LIMIT_TOTAL);
  SIZED(tarsia_graph_plan_info, info);
  CHECK_OK(tarsia_graph_plan_get(plan, &info));
  tarsia_blob* certificate = NULL;
  CHECK_OK(tarsia_graph_plan_certificate(plan, &certificate));
  CHECK((limit != 0) == (strstr(tarsia_blob_data(certificate), ":2\"") != NULL));
  tarsia_blob_destroy(certificate);
  tarsia_device* device = NULL;
  CHECK_OK(tarsia_device_open(device_name, &device));
  const uint64_t around = 256;
  uint8_t* memory = NULL;
  CHECK_OK(tarsia_memory_alloc(device, info.peak + 2 * around, (void**)&memory));
  CHECK_OK(tarsia_memory_fill(device, memory, 0xA5, info.peak + 2 * around, NULL));
  float y[kN] = {0};
  float total = 0;
  const tarsia_graph_input inputs[] = {In(x, sizeof x), In(z, sizeof z), In(NULL, 0)};
  const tarsia_graph_output outputs[] = {Out(y, sizeof y), Out(&total, sizeof total)};
  SIZED(tarsia_graph_execute_options, options);
  options.arena = memory + around;
  options.arena_bytes = info.peak;
  tarsia_report* report = NULL;
  CHECK_OK(tarsia_graph_execute(plan, inputs, 3, outputs, 2, &options, &report));
  CHECK(IsRight(y));
  double sum = 0;
  for (int i = 0; i < kN; ++i) sum += Want(i);
  CHECK(fabs(total - sum) <= 1e-6 * (double)(kM * kN));
  SIZED(tarsia_report_info, facts);
  CHECK_OK(tarsia_report_get(report, &facts));
  CHECK(facts.blocks >= info.kernel_count);
  tarsia_report_destroy(report);
  uint8_t edge[256];
  for (int side = 0; side < 2; ++side) {
    CHECK_OK(tarsia_memory_read(device, edge, memory + (side == 0 ? 0 : around + info.peak), around,
                                NULL));
    for (size_t i = 0; i < around; ++i) CHECK(edge[i] == 0xA5);
  }
  options.arena_bytes = info.peak - 1;
  CHECK_INVALID("are needed", tarsia_graph_execute(plan, inputs, 3, outputs, 2, &options, NULL));
  options.arena_bytes = info.peak;
  options.arena = memory + 64;
  CHECK_INVALID("not a multiple of 256",
                tarsia_graph_execute(plan, inputs, 3, outputs, 2, &options, NULL));
  CHECK_OK(tarsia_memory_free(device, memory));
  tarsia_device_close(device);
  tarsia_graph_plan_destroy(plan);
}

/* Inputs and outputs that the limit does not count are used where they are. */
static void TestExecuteInPlace(void) {
  tarsia_graph_plan* plan = PlanOf(0, TARSIA_LIMIT_SCRATCH);
  tarsia_device* device = NULL;
  CHECK_OK(tarsia_device_open(device_name, &device));
  void *there_x = NULL, *there_z = NULL, *there_y = NULL, *there_total = NULL;
  CHECK_OK(tarsia_memory_alloc(device, sizeof x, &there_x));
  CHECK_OK(tarsia_memory_alloc(device, sizeof z, &there_z));
  CHECK_OK(tarsia_memory_alloc(device, sizeof x, &there_y));
  CHECK_OK(tarsia_memory_alloc(device, sizeof(float), &there_total));
  CHECK_OK(tarsia_memory_write(device, there_x, x, sizeof x, NULL));
  CHECK_OK(tarsia_memory_write(device, there_z, z, sizeof z, NULL));
  const tarsia_graph_input inputs[] = {In(there_x, sizeof x), In(there_z, sizeof z), In(NULL, 0)};
  const tarsia_graph_output outputs[] = {Out(there_y, sizeof x), Out(there_total, sizeof(float))};
  CHECK_OK(tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  float y[kN] = {0};
  CHECK_OK(tarsia_memory_read(device, y, there_y, sizeof y, NULL));
  CHECK(IsRight(y));
  CHECK_OK(tarsia_memory_free(device, there_x));
  CHECK_OK(tarsia_memory_free(device, there_z));
  CHECK_OK(tarsia_memory_free(device, there_y));
  CHECK_OK(tarsia_memory_free(device, there_total));
  tarsia_device_close(device);
  tarsia_graph_plan_destroy(plan);
}

/* A tensor behind callbacks, which count the bytes that pass. */
typedef struct Behind {
  uint8_t* bytes;
  uint64_t size;
  uint64_t passed;
  bool fails;
} Behind;

static bool Read(void* user, uint64_t offset, void* to, uint64_t bytes) {
  Behind* const from = user;
  CHECK(offset + bytes <= from->size);
  memcpy(to, from->bytes + offset, bytes);
  from->passed += bytes;
  return !from->fails;
}

static bool Write(void* user, uint64_t offset, const void* from, uint64_t bytes) {
  Behind* const to = user;
  CHECK(offset + bytes <= to->size);
  memcpy(to->bytes + offset, from, bytes);
  to->passed += bytes;
  return !to->fails;
}

static void TestCallbacks(tarsia_limit_kind kind) {
  tarsia_graph_plan* plan = PlanOf(0, kind);
  float y[kN] = {0};
  Behind from = {(uint8_t*)x, sizeof x, 0, false};
  Behind to = {(uint8_t*)y, sizeof y, 0, false};
  tarsia_graph_input inputs[] = {In(NULL, 0), In(NULL, 0), In(NULL, 0)};
  Behind from_z = {(uint8_t*)z, sizeof z, 0, false};
  float total = 0;
  Behind to_total = {(uint8_t*)&total, sizeof total, 0, false};
  inputs[0].read = Read;
  inputs[0].user = &from;
  inputs[1].read = Read;
  inputs[1].user = &from_z;
  tarsia_graph_output outputs[] = {Out(NULL, 0), Out(NULL, 0)};
  outputs[0].write = Write;
  outputs[0].user = &to;
  outputs[1].write = Write;
  outputs[1].user = &to_total;
  CHECK_OK(tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  CHECK(IsRight(y) && total > 0);
  CHECK(from.passed == sizeof x && to.passed == sizeof y);
  from.fails = true;
  CHECK_FAILS(TARSIA_STATUS_LAUNCH_FAILED, "the callback of input `%x` failed",
              tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  from.fails = false;
  to.fails = true;
  CHECK_FAILS(TARSIA_STATUS_LAUNCH_FAILED, "the callback of output `%y` failed",
              tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  inputs[0].data = x;
  CHECK_INVALID("has memory and a callback",
                tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  tarsia_graph_plan_destroy(plan);
}

static bool Always(void* user) { return user == NULL; }

static void Count(void* user, uint64_t done, uint64_t total) {
  uint64_t* const last = user;
  CHECK(done == *last + 1 && done <= total);
  *last = done;
}

static void TestExecuteMisuse(void) {
  tarsia_graph_plan* plan = PlanOf(0, TARSIA_LIMIT_TOTAL);
  float y[kN];
  tarsia_graph_input inputs[] = {In(x, sizeof x), In(z, sizeof z), In(NULL, 0)};
  tarsia_graph_output outputs[] = {Out(y, sizeof y), Out(NULL, 0)}; /* one that nobody wants */
  CHECK_OK(tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  CHECK(IsRight(y));
  CHECK_INVALID("`plan` is null", tarsia_graph_execute(NULL, inputs, 3, outputs, 2, NULL, NULL));
  CHECK_INVALID("2 inputs were given, and the graph has 3",
                tarsia_graph_execute(plan, inputs, 2, outputs, 2, NULL, NULL));
  CHECK_INVALID("`inputs` is null", tarsia_graph_execute(plan, NULL, 3, outputs, 2, NULL, NULL));
  inputs[1].bytes -= 4;
  CHECK_INVALID("input `%z` has 2800 bytes, and 2796 were given",
                tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  inputs[1] = In(NULL, 0);
  CHECK_INVALID("input `%z` has neither memory nor a callback",
                tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  inputs[1] = In(z, sizeof z);
  inputs[1].size = 8;
  CHECK_INVALID("size", tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  inputs[1].size = sizeof inputs[1];
  uint64_t steps = 0;
  SIZED(tarsia_graph_execute_options, options);
  options.progress = Count;
  options.progress_user = &steps;
  CHECK_OK(tarsia_graph_execute(plan, inputs, 3, outputs, 2, &options, NULL));
  SIZED(tarsia_graph_plan_info, info);
  CHECK_OK(tarsia_graph_plan_get(plan, &info));
  CHECK(steps == info.step_count);
  options.progress = NULL;
  options.cancel = Always;
  CHECK_FAILS(TARSIA_STATUS_CANCELLED, "cancelled",
              tarsia_graph_execute(plan, inputs, 3, outputs, 2, &options, NULL));
  tarsia_graph_plan_destroy(plan);

  tarsia_module* module = Module(kGraph);
  tarsia_graph_plan_options only = Options(0, TARSIA_LIMIT_TOTAL);
  only.device = "nonsense"; /* is not looked at */
  only.flags = TARSIA_GRAPH_PLAN_ONLY;
  CHECK_OK(tarsia_graph_plan_create(module, &only, &plan, NULL));
  CHECK_OK(tarsia_graph_plan_get(plan, &info));
  CHECK(strcmp(info.device, "") == 0);
  CHECK_INVALID("TARSIA_GRAPH_PLAN_ONLY",
                tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  tarsia_graph_plan_destroy(plan);
  tarsia_module_destroy(module);
}

/* ---- ranks --------------------------------------------------------------------------------- */

enum { kRanks = 3 };

typedef struct Rank {
  uint32_t rank;
  float y[kN], total;
} Rank;

static int pipes[kRanks][kRanks][2]; /* from and to */

static bool SendTo(void* user, uint32_t to, const void* from, uint64_t bytes) {
  const Rank* const rank = user;
  return write(pipes[rank->rank][to][1], from, bytes) == (ssize_t)bytes;
}

static bool ReceiveFrom(void* user, uint32_t from, void* to, uint64_t bytes) {
  const Rank* const rank = user;
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = read(pipes[from][rank->rank][0], (char*)to + done, bytes - done);
    if (got <= 0) return false;
    done += (uint64_t)got;
  }
  return true;
}

static bool Broken(void* user, uint32_t to, const void* from, uint64_t bytes) {
  (void)user, (void)to, (void)from, (void)bytes;
  return false;
}

static tarsia_graph_plan* ShareOf(uint32_t rank) {
  tarsia_module* module = Module(kGraph);
  tarsia_graph_plan_options options = Options(0, TARSIA_LIMIT_TOTAL);
  options.rank = rank;
  options.ranks = kRanks;
  tarsia_graph_plan* plan = NULL;
  CHECK_OK(tarsia_graph_plan_create(module, &options, &plan, NULL));
  tarsia_module_destroy(module);
  return plan;
}

static void* RunRank(void* user) {
  Rank* const rank = user;
  tarsia_graph_plan* plan = ShareOf(rank->rank);
  const tarsia_graph_input inputs[] = {In(x, sizeof x), In(z, sizeof z), In(NULL, 0)};
  const tarsia_graph_output outputs[] = {Out(rank->y, sizeof rank->y),
                                         Out(&rank->total, sizeof rank->total)};
  SIZED(tarsia_graph_execute_options, options);
  options.send = SendTo;
  options.receive = ReceiveFrom;
  options.exchange_user = rank;
  CHECK_OK(tarsia_graph_execute(plan, inputs, 3, outputs, 2, &options, NULL));
  tarsia_graph_plan_destroy(plan);
  return NULL;
}

/* All ranks have the same %total. Each has its rows of %y if it is the rows that they share, which
 * the plan decides, and otherwise all of it. */
static void TestRanks(void) {
  static Rank ranks[kRanks];
  pthread_t threads[kRanks];
  for (int a = 0; a < kRanks; ++a) {
    for (int b = 0; b < kRanks; ++b) CHECK(pipe(pipes[a][b]) == 0);
  }
  for (uint32_t r = 0; r < kRanks; ++r) {
    ranks[r].rank = r;
    CHECK(pthread_create(&threads[r], NULL, RunRank, &ranks[r]) == 0);
  }
  double total = 0;
  for (int i = 0; i < kN; ++i) total += Want(i);
  int64_t end = 0;
  for (uint32_t r = 0; r < kRanks; ++r) {
    CHECK(pthread_join(threads[r], NULL) == 0);
    CHECK(fabs(ranks[r].total - total) <= 1e-6 * (double)kN * total);
    CHECK(ranks[r].total == ranks[0].total);
    tarsia_graph_plan* plan = ShareOf(r);
    SIZED(tarsia_graph_plan_info, info);
    CHECK_OK(tarsia_graph_plan_get(plan, &info));
    const bool rows = strcmp(info.shared_axis, "i") == 0;
    CHECK(rows || strcmp(info.shared_axis, "j") == 0);
    CHECK(info.share_begin == end);
    end = info.share_end;
    if (r + 1 == kRanks) CHECK(end == (rows ? kN : kM));
    for (int64_t i = rows ? info.share_begin : 0; i < (rows ? end : kN); ++i) {
      CHECK(fabs(ranks[r].y[i] - Want((int)i)) <= 1e-6 * (double)kM);
    }
    SIZED(tarsia_graph_tensor, tensor);
    CHECK_OK(tarsia_graph_plan_output(plan, 0, &tensor));
    CHECK(tensor.shared == rows);
    CHECK_OK(tarsia_graph_plan_output(plan, 1, &tensor));
    CHECK(!tensor.shared);
    tarsia_graph_plan_destroy(plan);
  }
}

static void TestRanksMisuse(void) {
  tarsia_module* module = Module(kGraph);
  tarsia_graph_plan* plan = NULL;
  tarsia_graph_plan_options options = Options(0, TARSIA_LIMIT_TOTAL);
  options.rank = 3;
  options.ranks = 3;
  CHECK_INVALID("rank 3 of 3", tarsia_graph_plan_create(module, &options, &plan, NULL));
  options.ranks = 5000;
  CHECK_INVALID("at most 4096", tarsia_graph_plan_create(module, &options, &plan, NULL));
  tarsia_module_destroy(module);
  plan = ShareOf(1);
  const tarsia_graph_input inputs[] = {In(x, sizeof x), In(z, sizeof z), In(NULL, 0)};
  const tarsia_graph_output outputs[] = {Out(NULL, 0), Out(NULL, 0)};
  CHECK_INVALID("the share of rank 1 of 3, and has neither `send` nor `receive`",
                tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL));
  SIZED(tarsia_graph_execute_options, broken);
  broken.send = Broken;
  broken.receive = ReceiveFrom;
  CHECK_FAILS(TARSIA_STATUS_LAUNCH_FAILED, "the callback that sends to rank 0 failed",
              tarsia_graph_execute(plan, inputs, 3, outputs, 2, &broken, NULL));
  tarsia_graph_plan_destroy(plan);
}

static void* Work(void* user) {
  const tarsia_graph_plan* const plan = user;
  bool right = true;
  for (int round = 0; round < 5; ++round) {
    float y[kN] = {0};
    const tarsia_graph_input inputs[] = {In(x, sizeof x), In(z, sizeof z), In(NULL, 0)};
    const tarsia_graph_output outputs[] = {Out(y, sizeof y), Out(NULL, 0)};
    right = right &&
            tarsia_graph_execute(plan, inputs, 3, outputs, 2, NULL, NULL) == TARSIA_STATUS_OK &&
            IsRight(y);
  }
  return right ? NULL : user;
}

/* One plan in many threads, each with an arena of its own. */
static void TestThreads(void) {
  tarsia_graph_plan* plan = PlanOf(0, TARSIA_LIMIT_TOTAL);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, Work, plan) == 0);
  for (int i = 0; i < 4; ++i) {
    void* failed = plan;
    CHECK(pthread_join(threads[i], &failed) == 0 && failed == NULL);
  }
  tarsia_graph_plan_destroy(plan);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  device_name = argv[1];
  for (int i = 0; i < kN; ++i) x[i] = (float)i / 160;
  for (int j = 0; j < kM; ++j) z[j] = (float)(j * j % 71) / 32;
  TestModuleOfGraphs();
  TestPlanOfGraph();
  const uint64_t smallest = TestSmallestLimit();
  TestPlanMisuse();
  TestExecuteInArena(0);
  TestExecuteInArena(smallest); /* inputs and outputs come and go by chunks */
  TestExecuteInPlace();
  TestCallbacks(TARSIA_LIMIT_TOTAL);
  TestCallbacks(TARSIA_LIMIT_SCRATCH);
  TestExecuteMisuse();
  TestThreads();
  TestRanks();
  TestRanksMisuse();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
