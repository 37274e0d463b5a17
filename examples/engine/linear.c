#include "linear.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

void Must(tarsia_status status, const char* what) {
  if (status == TARSIA_STATUS_OK) return;
  const int missing = status == TARSIA_STATUS_NO_DEVICE || status == TARSIA_STATUS_OUT_OF_MEMORY;
  Fail(missing ? 3 : 1, "%s: %s", what, tarsia_last_error());
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static void* OnDevice(const Engine* engine, uint64_t bytes, const void* contents) {
  void* out = NULL;
  Must(tarsia_memory_alloc(engine->device, bytes, &out), "memory of the device");
  if (contents != NULL) {
    Must(tarsia_memory_write(engine->device, out, contents, bytes, NULL), "a copy to the device");
  }
  return out;
}

Engine OpenEngine(const char* device, int32_t most_rows, int64_t widest) {
  Engine engine;
  memset(&engine, 0, sizeof engine);
  engine.most_rows = most_rows;
  Must(tarsia_device_open(device, &engine.device), "the device");
  const uint64_t elements = (uint64_t)most_rows * (uint64_t)widest;
  engine.x_bytes = elements * sizeof(uint16_t);
  engine.y_bytes = elements * sizeof(float);
  engine.x_on_host = (uint16_t*)Allocate(engine.x_bytes);
  engine.x = OnDevice(&engine, engine.x_bytes, NULL);
  engine.y = OnDevice(&engine, engine.y_bytes, NULL);
  engine.residual = OnDevice(&engine, engine.y_bytes, NULL);
  return engine;
}

void CloseEngine(Engine* engine) {
  void* const all[] = {engine->x, engine->y, engine->residual, engine->workspace};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) tarsia_memory_free(engine->device, all[i]);
  free(engine->x_on_host);
  tarsia_device_close(engine->device);
}

/* All layers share one workspace, which has the size that the largest of them needs. */
static void ProvideWorkspace(Engine* engine, const tarsia_matmul_plan* plan) {
  tarsia_matmul_plan_info info = {.size = sizeof info};
  Must(tarsia_matmul_plan_get(plan, &info), "the plan");
  if (info.workspace_bytes <= engine->workspace_bytes) return;
  Must(tarsia_memory_free(engine->device, engine->workspace), "the workspace");
  engine->workspace_bytes = info.workspace_bytes;
  engine->workspace = OnDevice(engine, info.workspace_bytes, NULL);
  Must(tarsia_matmul_workspace_init(plan, engine->workspace, info.workspace_bytes, NULL),
       "the workspace");
}

/* ---- weights -----------------------------------------------------------------------------------
 */

static bool IsCodebook(const char* name) {
  return strcmp(name, "nf4") == 0 || strcmp(name, "fp4") == 0 || strcmp(name, "iq4_nl") == 0;
}

static tarsia_weights* Quantise(const Format* format, const Linear* linear) {
  tarsia_quantise_options options = {.size = sizeof options};
  options.compute = format->compute;
  options.group = format->group;
  options.scale_type = format->compute;
  if (format->least_squares) options.rule = TARSIA_SCALE_RULE_LEAST_SQUARES;
  if (IsCodebook(format->name)) {
    options.codebook = format->name;
  } else {
    Must(tarsia_dtype_find(format->name, &options.type), "the type of the weights");
    tarsia_dtype_info info = {.size = sizeof info};
    Must(tarsia_dtype_get(options.type, &info), "the type of the weights");
    /* Numbers without a sign need a zero point. */
    if (info.kind == TARSIA_DTYPE_KIND_UNSIGNED) options.zero = TARSIA_ZERO_POINT_INTEGER;
  }
  tarsia_weights* weights = NULL;
  const size_t bytes = (size_t)(linear->k * linear->n) * sizeof(float);
  Must(tarsia_weights_quantise(linear->w, bytes, TARSIA_DTYPE_F32, linear->k, linear->n,
                               /*transposed=*/true, &options, &weights),
       "quantising");
  return weights;
}

static tarsia_weights* LoadOrQuantise(const Format* format, const char* name,
                                      const Linear* linear) {
  char path[4096];
  if (format->load_from == NULL) {
    tarsia_weights* const weights = Quantise(format, linear);
    if (format->save_to == NULL) return weights;
    snprintf(path, sizeof path, "%s/%s.tsw", format->save_to, name);
    Must(tarsia_weights_save(weights, path), "saving weights");
    return weights;
  }
  tarsia_weights* weights = NULL;
  snprintf(path, sizeof path, "%s/%s.tsw", format->load_from, name);
  Must(tarsia_weights_load(path, &weights), "loading weights");
  return weights;
}

void PackLinear(Engine* engine, const Format* format, const char* name, Linear* linear) {
  tarsia_weights* const weights = LoadOrQuantise(format, name, linear);
  tarsia_matmul layer = {.size = sizeof layer};
  Must(tarsia_matmul_describe(weights, &layer), "the layer");
  if (layer.k != linear->k || layer.n != linear->n) Fail(1, "%s.tsw has another shape", name);
  layer.m_max = engine->most_rows;
  layer.bias_type = TARSIA_DTYPE_F32;
  layer.y_type = TARSIA_DTYPE_F32;
  layer.residual = linear->adds;
  if (linear->gelu) layer.activation = TARSIA_ACTIVATION_GELU;
  linear->compute = layer.compute;
  const tarsia_matmul_options options = {.size = sizeof options,
                                         .device = tarsia_device_name(engine->device),
                                         .flags = TARSIA_MATMUL_DETERMINISTIC};
  Must(tarsia_matmul_plan_create(&layer, &options, &linear->plan), "the plan");
  ProvideWorkspace(engine, linear->plan);

  const void* image = NULL;
  Must(tarsia_weights_image(weights, &image, &linear->packed_bytes), "packed weights");
  linear->packed = OnDevice(engine, linear->packed_bytes, image);
  linear->bias_on_device = OnDevice(engine, (uint64_t)linear->n * sizeof(float), linear->bias);
  tarsia_weights_destroy(weights);
}

void FreeLinear(const Engine* engine, Linear* linear) {
  tarsia_matmul_plan_destroy(linear->plan);
  Must(tarsia_memory_free(engine->device, linear->packed), "memory of the device");
  Must(tarsia_memory_free(engine->device, linear->bias_on_device), "memory of the device");
  linear->plan = NULL;
}

/* ---- products ----------------------------------------------------------------------------------
 */

static void ApplyInFull(const Linear* linear, const float* x, int32_t m, const float* residual,
                        float* y) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t i = 0; i < linear->n; ++i) {
      const float* const w = linear->w + i * linear->k;
      double sum = (double)linear->bias[i];
      for (int64_t k = 0; k < linear->k; ++k) sum += (double)x[row * linear->k + k] * (double)w[k];
      if (linear->gelu) sum *= (1 + erf(sum / sqrt(2.0))) / 2;
      if (residual != NULL) sum += (double)residual[row * linear->n + i];
      y[row * linear->n + i] = (float)sum;
    }
  }
}

void Apply(const Engine* engine, const Linear* linear, const float* x, int32_t m,
           const float* residual, float* y) {
  if (linear->plan == NULL) {
    ApplyInFull(linear, x, m, residual, y);
    return;
  }
  const size_t x_count = (size_t)m * (size_t)linear->k;
  const size_t y_bytes = (size_t)m * (size_t)linear->n * sizeof(float);
  Must(tarsia_dtype_cast(TARSIA_DTYPE_F32, x, linear->compute, engine->x_on_host, x_count), "x");
  tarsia_matmul_args args = {.size = sizeof args};
  args.m = m;
  args.x = engine->x;
  args.x_bytes = x_count * sizeof(uint16_t);
  args.weights = linear->packed;
  args.weights_bytes = linear->packed_bytes;
  args.bias = linear->bias_on_device;
  args.bias_bytes = (uint64_t)linear->n * sizeof(float);
  args.y = engine->y;
  args.y_bytes = y_bytes;
  args.workspace = engine->workspace;
  args.workspace_bytes = engine->workspace_bytes;
  Must(tarsia_memory_write(engine->device, engine->x, engine->x_on_host, args.x_bytes, NULL), "x");
  if (residual != NULL) {
    args.residual = engine->residual;
    args.residual_bytes = y_bytes;
    Must(tarsia_memory_write(engine->device, engine->residual, residual, y_bytes, NULL),
         "the residual");
  }
  Must(tarsia_matmul_execute(linear->plan, &args, NULL), "the product");
  Must(tarsia_memory_read(engine->device, y, engine->y, y_bytes, NULL), "y");
}
