#include "transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors -----------------------------------------------------------------------------------
 */

static const float* TensorOf(const Model* model, const char* part, const char* which,
                             int64_t count) {
  char name[256];
  snprintf(name, sizeof name, "%s.%s", part, which);
  return FindTensor(model, name, count);
}

static Norm NormOf(const Model* model, const char* part) {
  Norm out;
  out.weight = TensorOf(model, part, "weight", kWidth);
  out.bias = TensorOf(model, part, "bias", kWidth);
  return out;
}

static Linear LinearOf(const Model* model, const char* part, int64_t k, int64_t n) {
  Linear out;
  memset(&out, 0, sizeof out);
  out.k = k;
  out.n = n;
  out.w = TensorOf(model, part, "weight", k * n);
  out.bias = TensorOf(model, part, "bias", n);
  return out;
}

/* The linear layers of a layer, by their names in the model. */
enum { kLinears = 6 };
static const char* const kNames[kLinears] = {"attention.self.query", "attention.self.key",
                                             "attention.self.value", "attention.output.dense",
                                             "intermediate.dense",   "output.dense"};
static Linear* LinearAt(Layer* layer, int index) {
  Linear* const all[kLinears] = {&layer->query,  &layer->key, &layer->value,
                                 &layer->output, &layer->up,  &layer->down};
  return all[index];
}

Transformer MakeTransformer(const Model* model) {
  Transformer out;
  out.words =
      FindTensor(model, "embeddings.word_embeddings.weight", (int64_t)model->word_count * kWidth);
  out.places = FindTensor(model, "embeddings.position_embeddings.weight", 512 * kWidth);
  out.kinds = FindTensor(model, "embeddings.token_type_embeddings.weight", 2 * kWidth);
  out.norm = NormOf(model, "embeddings.LayerNorm");
  for (int i = 0; i < kLayers; ++i) {
    Layer* const layer = &out.layers[i];
    char part[128];
    for (int j = 0; j < kLinears; ++j) {
      snprintf(part, sizeof part, "encoder.layer.%d.%s", i, kNames[j]);
      *LinearAt(layer, j) =
          LinearOf(model, part, j == 5 ? kInner : kWidth, j == 4 ? kInner : kWidth);
    }
    layer->up.gelu = true;
    layer->output.adds = layer->down.adds = true;
    snprintf(part, sizeof part, "encoder.layer.%d.attention.output.LayerNorm", i);
    layer->after_attention = NormOf(model, part);
    snprintf(part, sizeof part, "encoder.layer.%d.output.LayerNorm", i);
    layer->after_inner = NormOf(model, part);
  }
  return out;
}

uint64_t PackTransformer(Engine* engine, const Format* format, int layers, Transformer* out) {
  uint64_t bytes = 0;
  for (int i = 0; i < layers; ++i) {
    for (int j = 0; j < kLinears; ++j) {
      char name[128];
      snprintf(name, sizeof name, "encoder.layer.%d.%s", i, kNames[j]);
      Linear* const linear = LinearAt(&out->layers[i], j);
      PackLinear(engine, format, name, linear);
      bytes += linear->packed_bytes;
    }
  }
  return bytes;
}

void FreePacked(const Engine* engine, int layers, Transformer* transformer) {
  for (int i = 0; i < layers; ++i) {
    for (int j = 0; j < kLinears; ++j) FreeLinear(engine, LinearAt(&transformer->layers[i], j));
  }
}

/* ---- the network -------------------------------------------------------------------------------
 */

/* Each row of x minus its mean, divided by its deviation; then scaled and moved by element. */
static void Normalize(const Norm* norm, int32_t rows, float* x) {
  const double width = (double)(int)kWidth;
  for (int32_t row = 0; row < rows; ++row, x += kWidth) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kWidth; ++i) sum += (double)x[i];
    const double mean = sum / width;
    for (int i = 0; i < kWidth; ++i) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    const double scale = 1 / sqrt(squares / width + 1e-12);
    for (int i = 0; i < kWidth; ++i) {
      x[i] =
          (float)(((double)x[i] - mean) * scale * (double)norm->weight[i] + (double)norm->bias[i]);
    }
  }
}

/* Of one token and one head: the mean of the values of all tokens, weighted by
 * softmax(query * key / sqrt(size)). */
static void Attend(const float* query, const float* keys, const float* values, int32_t count,
                   float* out) {
  enum { kSize = kWidth / kHeads };
  double weights[kMostTokens], largest = -HUGE_VAL, total = 0;
  for (int32_t t = 0; t < count; ++t) {
    weights[t] = 0;
    for (int i = 0; i < kSize; ++i) weights[t] += (double)query[i] * (double)keys[t * kWidth + i];
    weights[t] /= sqrt((double)kSize);
    if (weights[t] > largest) largest = weights[t];
  }
  for (int32_t t = 0; t < count; ++t) {
    weights[t] = exp(weights[t] - largest);
    total += weights[t];
  }
  for (int i = 0; i < kSize; ++i) {
    double sum = 0;
    for (int32_t t = 0; t < count; ++t) sum += weights[t] * (double)values[t * kWidth + i];
    out[i] = (float)(sum / total);
  }
}

static void RunLayer(const Engine* engine, const Layer* layer, int32_t count, float* x,
                     float* scratch) {
  const size_t size = (size_t)count * kWidth;
  float* const query = scratch;
  float* const key = scratch + size;
  float* const value = scratch + 2 * size;
  float* const mixed = scratch + 3 * size;
  Apply(engine, &layer->query, x, count, NULL, query);
  Apply(engine, &layer->key, x, count, NULL, key);
  Apply(engine, &layer->value, x, count, NULL, value);
  for (int32_t token = 0; token < count; ++token) {
    for (int head = 0; head < kHeads; ++head) {
      const int at = head * (kWidth / kHeads);
      Attend(query + token * kWidth + at, key + at, value + at, count, mixed + token * kWidth + at);
    }
  }
  float* const attended = query; /* which is no longer used */
  Apply(engine, &layer->output, mixed, count, x, attended);
  Normalize(&layer->after_attention, count, attended);
  float* const inner = scratch + size;
  Apply(engine, &layer->up, attended, count, NULL, inner);
  Apply(engine, &layer->down, inner, count, attended, x);
  Normalize(&layer->after_inner, count, x);
}

void Embed(const Engine* engine, const Transformer* transformer, const int32_t* tokens,
           int32_t count, float embedding[kWidth]) {
  const size_t size = (size_t)count * kWidth;
  float* const x = (float*)Allocate(size * sizeof(float));
  float* const scratch = (float*)Allocate((size_t)count * (kWidth + kInner) * sizeof(float));
  for (int32_t t = 0; t < count; ++t) {
    for (int i = 0; i < kWidth; ++i) {
      x[t * kWidth + i] = transformer->words[(int64_t)tokens[t] * kWidth + i] +
                          transformer->places[t * kWidth + i] + transformer->kinds[i];
    }
  }
  Normalize(&transformer->norm, count, x);
  for (int i = 0; i < kLayers; ++i) {
    RunLayer(engine, &transformer->layers[i], count, x, scratch);
  }
  double length = 0;
  for (int i = 0; i < kWidth; ++i) {
    double sum = 0;
    for (int32_t t = 0; t < count; ++t) sum += (double)x[t * kWidth + i];
    embedding[i] = (float)(sum / count);
    length += (double)embedding[i] * (double)embedding[i];
  }
  for (int i = 0; i < kWidth; ++i) embedding[i] = (float)((double)embedding[i] / sqrt(length));
  free(x);
  free(scratch);
}
