/* The linear layers: the part of the engine that calls Tarsia. */
#ifndef TARSIA_EXAMPLES_ENGINE_LINEAR_H_
#define TARSIA_EXAMPLES_ENGINE_LINEAR_H_

#include <stdbool.h>
#include <stdint.h>
#include <tarsia/tarsia.h>

/* Ends the program if a call has failed. */
void Must(tarsia_status status, const char* what);

/* How the weights are stored. */
typedef struct Format {
  const char* name; /* of the type, or of a codebook: nf4, fp4, iq4_nl */
  tarsia_dtype compute;
  int64_t group;
  bool least_squares;
  const char* load_from; /* a folder with .tsw files instead of quantising; NULL: none */
  const char* save_to;   /* a folder for .tsw files; NULL: none */
} Format;

/* A device, and memory on it for what all layers use one after the other. */
typedef struct Engine {
  tarsia_device* device;
  int32_t most_rows;
  void *x, *residual, *y, *workspace;
  uint64_t x_bytes, y_bytes, workspace_bytes;
  uint16_t* x_on_host;
} Engine;

/* y = residual + act(x * w + bias). Without a plan, it is computed in full precision. */
typedef struct Linear {
  int64_t k, n;
  const float* w;    /* [n, k], as the model has it */
  const float* bias; /* [n] */
  bool gelu, adds;
  tarsia_dtype compute;
  tarsia_matmul_plan* plan;
  void* packed; /* on the device */
  void* bias_on_device;
  uint64_t packed_bytes;
} Linear;

Engine OpenEngine(const char* device, int32_t most_rows, int64_t widest);
void CloseEngine(Engine* engine);

/* Quantises and packs the weights, and makes the plan. `name` is that of the .tsw file. */
void PackLinear(Engine* engine, const Format* format, const char* name, Linear* linear);
void FreeLinear(const Engine* engine, Linear* linear);

/* x [m, k] and residual [m, n], or NULL, give y [m, n]. */
void Apply(const Engine* engine, const Linear* linear, const float* x, int32_t m,
           const float* residual, float* y);

#endif /* TARSIA_EXAMPLES_ENGINE_LINEAR_H_ */
