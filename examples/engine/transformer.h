/* The network: BERT with the sizes of all-MiniLM-L6-v2, and the mean of its tokens. */
#ifndef TARSIA_EXAMPLES_ENGINE_TRANSFORMER_H_
#define TARSIA_EXAMPLES_ENGINE_TRANSFORMER_H_

#include "linear.h"
#include "model.h"

enum { kLayers = 6, kWidth = 384, kInner = 1536, kHeads = 12, kMostTokens = 256 };

typedef struct Norm {
  const float *weight, *bias; /* [kWidth] */
} Norm;

typedef struct Layer {
  Linear query, key, value, output, up, down;
  Norm after_attention, after_inner;
} Layer;

typedef struct Transformer {
  const float *words, *places, *kinds; /* embeddings, [.., kWidth] */
  Norm norm;
  Layer layers[kLayers];
} Transformer;

/* Tensors of the model; they are not copied. */
Transformer MakeTransformer(const Model* model);
/* Makes the linear layers of the first `layers` layers products of Tarsia; the bytes that their
 * weights take on the device. */
uint64_t PackTransformer(Engine* engine, const Format* format, int layers, Transformer* out);
void FreePacked(const Engine* engine, int layers, Transformer* transformer);

/* The embedding of a sentence: a vector of length 1. */
void Embed(const Engine* engine, const Transformer* transformer, const int32_t* tokens,
           int32_t count, float embedding[kWidth]);

#endif /* TARSIA_EXAMPLES_ENGINE_TRANSFORMER_H_ */
