/* An engine: a sentence becomes an embedding, by the transformer all-MiniLM-L6-v2 whose linear
 * layers are products of Tarsia with packed weights. Prints, for each type of weights, their bytes
 * and the cosine between the embedding and that of full precision. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "linear.h"
#include "model.h"
#include "transformer.h"

static const char kHelp[] =
    "Embeds a sentence with a transformer whose linear layers are quantised.\n"
    "usage: engine --model DIR [OPTIONS] [SENTENCE]\n"
    "\n"
    "  --model DIR       the folder with model.safetensors and vocab.txt\n"
    "  --types T,U,..    the types of the weights: u1 .. u8, i1 .. i8, floats such as f4e2m1,\n"
    "                    nf4, fp4, iq4_nl; default u4\n"
    "  --group G         weights that share a scale; 0: all of a column; default 128\n"
    "  --compute f16|bf16\n"
    "                    the type of the activations and the scales; default f16\n"
    "  --rule absmax|lsq how scales are chosen; default absmax\n"
    "  --device D        cpu, ptx, cuda, ..; default: the first GPU, else cpu\n"
    "  --layers N        quantise only the first N of the 6 layers, as the device ptx is slow\n"
    "  --embedding       print the embedding of the last type, too\n"
    "  --reference       print the embedding of full precision, and stop\n"
    "  --save DIR        also write the weights to DIR/<layer>.tsw\n"
    "  --load DIR        read them from there instead of quantising; --types is ignored\n"
    "\n"
    "Example:\n"
    "  engine --model all-MiniLM-L6-v2 --types u8,u4,u2 \"The cat sits on the mat.\"\n";

typedef struct Options {
  const char *model, *types, *device, *sentence;
  Format format;
  int layers;
  bool embedding, reference;
} Options;

static long Number(const char* flag, const char* text, long most) {
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 0 || value > most) {
    Fail(2, "%s takes a number from 0 to %ld, not `%s`", flag, most, text);
  }
  return value;
}

/* Which of two words follows a flag. */
static bool IsSecond(const char* flag, const char* text, const char* first, const char* second) {
  if (strcmp(text, first) != 0 && strcmp(text, second) != 0) {
    Fail(2, "%s takes %s or %s, not `%s`", flag, first, second, text);
  }
  return strcmp(text, second) == 0;
}

static void SetOption(Options* out, const char* flag, const char* value) {
  Format* const format = &out->format;
  if (strcmp(flag, "--model") == 0) {
    out->model = value;
  } else if (strcmp(flag, "--types") == 0) {
    out->types = value;
  } else if (strcmp(flag, "--group") == 0) {
    format->group = Number(flag, value, kInner);
  } else if (strcmp(flag, "--compute") == 0) {
    format->compute = IsSecond(flag, value, "f16", "bf16") ? TARSIA_DTYPE_BF16 : TARSIA_DTYPE_F16;
  } else if (strcmp(flag, "--rule") == 0) {
    format->least_squares = IsSecond(flag, value, "absmax", "lsq");
  } else if (strcmp(flag, "--device") == 0) {
    out->device = value;
  } else if (strcmp(flag, "--layers") == 0) {
    out->layers = (int)Number(flag, value, kLayers);
  } else if (strcmp(flag, "--save") == 0) {
    format->save_to = value;
  } else if (strcmp(flag, "--load") == 0) {
    format->load_from = value;
  } else {
    Fail(2, "unknown option `%s`; see --help", flag);
  }
}

static Options ParseOptions(int argc, char** argv) {
  Options out;
  memset(&out, 0, sizeof out);
  out.types = "u4";
  out.sentence = "The quick brown fox jumps over the lazy dog.";
  out.layers = kLayers;
  out.format.group = 128;
  out.format.compute = TARSIA_DTYPE_F16;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(kHelp, stdout);
      exit(0);
    } else if (strcmp(argv[i], "--embedding") == 0) {
      out.embedding = true;
    } else if (strcmp(argv[i], "--reference") == 0) {
      out.reference = true;
    } else if (argv[i][0] != '-') {
      out.sentence = argv[i];
    } else if (i + 1 < argc) {
      SetOption(&out, argv[i], argv[i + 1]);
      ++i;
    } else {
      Fail(2, "unknown option `%s`, or its value is missing; see --help", argv[i]);
    }
  }
  if (out.model == NULL) Fail(2, "--model is missing; see --help");
  if (out.format.load_from != NULL) out.types = "(files)";
  return out;
}

static void PrintEmbedding(const float* embedding) {
  for (int i = 0; i < kWidth; ++i) printf("%.9g\n", (double)embedding[i]);
}

static double Milliseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

typedef struct Sentence {
  int32_t tokens[kMostTokens];
  int32_t count;
  float reference[kWidth];
} Sentence;

/* The row of one type of weights. */
static void RunType(Engine* engine, const Options* options, const char* type,
                    const Sentence* sentence, Transformer* transformer, float* embedding) {
  Format format = options->format;
  format.name = type;
  const double start = Milliseconds();
  const uint64_t bytes = PackTransformer(engine, &format, options->layers, transformer);
  const double packed = Milliseconds();
  Embed(engine, transformer, sentence->tokens, sentence->count, embedding);
  const double done = Milliseconds();
  double cosine = 0;
  for (int i = 0; i < kWidth; ++i) {
    cosine += (double)sentence->reference[i] * (double)embedding[i];
  }
  const int of_layer = 4 * kWidth * kWidth + 2 * kWidth * kInner;
  const double numbers = (double)options->layers * (double)of_layer;
  printf("%-14s %9llu %8.2f %7.1f%% %10.6f %8.0f ms %8.0f ms\n", type, (unsigned long long)bytes,
         8 * (double)bytes / numbers, 100 * (double)bytes / (2 * numbers), cosine, packed - start,
         done - packed);
  fflush(stdout);
  FreePacked(engine, options->layers, transformer);
}

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  Model model = LoadModel(options.model);
  Transformer transformer = MakeTransformer(&model);
  Sentence sentence;
  sentence.count = Tokenize(&model, options.sentence, sentence.tokens, kMostTokens);
  Embed(NULL, &transformer, sentence.tokens, sentence.count, sentence.reference);
  if (options.reference) {
    PrintEmbedding(sentence.reference);
    FreeModel(&model);
    return 0;
  }

  Engine engine = OpenEngine(options.device, sentence.count, kInner);
  printf("\"%s\": %d tokens, %d of %d layers on %s\n\n", options.sentence, (int)sentence.count,
         options.layers, (int)kLayers, tarsia_device_name(engine.device));
  printf("%-14s %9s %8s %8s %10s %11s %11s\n", "type", "bytes", "a weight", "of f16", "cosine",
         "to pack", "to embed");
  float embedding[kWidth] = {0};
  char* const types = (char*)Allocate(strlen(options.types) + 1);
  memcpy(types, options.types, strlen(options.types));
  for (char* type = strtok(types, ","); type != NULL; type = strtok(NULL, ",")) {
    RunType(&engine, &options, type, &sentence, &transformer, embedding);
  }
  if (options.embedding) PrintEmbedding(embedding);
  free(types);
  CloseEngine(&engine);
  FreeModel(&model);
  return 0;
}
