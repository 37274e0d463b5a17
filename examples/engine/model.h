/* The files of the model: weights by name from model.safetensors, token numbers from vocab.txt. */
#ifndef TARSIA_EXAMPLES_ENGINE_MODEL_H_
#define TARSIA_EXAMPLES_ENGINE_MODEL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the program with a message: status 1 for an error, 2 for a wrong call, 3 if something that
 * the program needs is not there. */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 2, 3)))
#endif
void Fail(int status, const char* format, ...);
void* Allocate(size_t bytes); /* never NULL */

typedef struct Model {
  char* header; /* of model.safetensors: JSON, ends with a zero byte */
  char* data;   /* behind the header */
  size_t data_bytes;
  char* vocabulary; /* words that end with zero bytes, sorted, */
  const char** words;
  int32_t* numbers; /* and the line of each */
  int32_t word_count;
} Model;

Model LoadModel(const char* folder);
void FreeModel(Model* model);

/* The f32 tensor of this name, which must have `count` elements. */
const float* FindTensor(const Model* model, const char* name, int64_t count);

/* The tokens of a sentence, with [CLS] before and [SEP] behind them, at most `most`: words in lower
 * case, cut into the longest pieces that the vocabulary has. */
int32_t Tokenize(const Model* model, const char* sentence, int32_t* tokens, int32_t most);

#endif /* TARSIA_EXAMPLES_ENGINE_MODEL_H_ */
