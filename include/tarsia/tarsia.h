/*
 * The C API of Tarsia, a virtual machine for low-precision GPU compute. C11; the only public header
 * of libtarsia. docs/capi.md is the guide; tests/capi/ has a program that calls every function.
 *
 * The order of calls:
 *   text or bytecode --tarsia_module_create--> module --tarsia_plan_create--> plan
 *   plan --tarsia_query_create--> query: launch geometry, required bytes of every pointer
 *   device --tarsia_memory_alloc, tarsia_memory_write--> memory for the pointer arguments
 *   plan --tarsia_execute--> results, and a report if the caller asks for one
 *   module --tarsia_code_create--> PTX and machine code, without any device
 *   module with a graph --tarsia_graph_plan_create--> plan of a graph below a memory limit
 *   plan of a graph --tarsia_graph_execute--> outputs
 *   plan --tarsia_plan_save--> bytes --tarsia_plan_load--> plan, with no compiler
 *   plan of a layer --tarsia_matmul_plan_save--> bytes --tarsia_matmul_plan_load--> plan
 *   weights --tarsia_weights_quantise--> packed weights --tarsia_weights_part--> pointer arguments
 *
 * Conventions that hold for every function:
 * - A function that can fail returns a tarsia_status. If it is not TARSIA_STATUS_OK, handles that
 *   it makes are NULL, other outputs are unchanged, and tarsia_last_error() describes the error and
 *   names the argument. Functions that return void or a plain value cannot fail.
 * - Handles are opaque. `*_destroy` frees what `*_create` made; destroying NULL does nothing. The
 *   library does not detect the use of a handle after its destruction, nor what is wrong in memory
 *   of a GPU: another layer's weights, tensors that overlap, a workspace that is not prepared.
 * - Every struct begins with its size. Set it to sizeof, and set members that you do not use to
 *   zero: designated initialisers do that, and `T t{}; t.size = sizeof t;` in C++. A library that
 *   knows more members takes the missing ones as zero. A library that knows fewer members refuses a
 *   struct that sets the others.
 *   All structs of one array must have the same size.
 * - Enumerators have fixed values. Later versions may add some, but never change one.
 * - Texts are UTF-8. Sizes are in bytes. A pointer that points into a handle is valid as long as
 *   the handle exists.
 * - No exception leaves the library, and no wrong call corrupts memory: null handles, wrong sizes
 *   and wrong kinds all give TARSIA_STATUS_INVALID_ARGUMENT. Pointers that point to no memory, or
 *   to less than the sizes say, are not found.
 * - The comment of every function states its thread safety. "Thread-safe" means that any number of
 *   threads may call it at the same time, on the same handles.
 */
#ifndef TARSIA_TARSIA_H_
#define TARSIA_TARSIA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TARSIA_API __attribute__((visibility("default")))
#else
#define TARSIA_API
#endif

#define TARSIA_VERSION_MAJOR 0
#define TARSIA_VERSION_MINOR 1
#define TARSIA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ------------------------------------------------------------------------------- */

typedef enum tarsia_status {
  TARSIA_STATUS_OK = 0,
  TARSIA_STATUS_INVALID_ARGUMENT = 1, /* the call is wrong: an argument is null, or has a wrong
                                         type or size */
  TARSIA_STATUS_REJECTED = 2,         /* a text, a bytecode, a value of a constant, weights or the
                                         contents of a file are wrong; the diagnostics or the
                                         message say where */
  TARSIA_STATUS_UNSUPPORTED = 3,      /* not in this build, or unknown to this version */
  TARSIA_STATUS_OUT_OF_MEMORY = 4,
  TARSIA_STATUS_NOT_FOUND = 5,     /* no kernel, type or library module of that name */
  TARSIA_STATUS_NO_DEVICE = 6,     /* the device, or a library that it needs, is missing */
  TARSIA_STATUS_LAUNCH_FAILED = 7, /* the program stopped: an assertion, a deadlock, a limit */
  TARSIA_STATUS_FINDINGS = 8,      /* the program ran to its end, but TARSIA_EXECUTE_CHECK found
                                      faults; its results have no meaning */
  TARSIA_STATUS_INTERNAL = 9,      /* a fault of the library */
  TARSIA_STATUS_DEVICE_LOST = 10,  /* a kernel failed on the GPU, or the GPU was lost: this CUDA
                                      context is unusable */
  TARSIA_STATUS_CANCELLED = 11,    /* a `cancel` callback returned true, or compiling took longer
                                      than `compile_limit_ms` */
  TARSIA_STATUS_FORCE_32BIT = 0x7fffffff
} tarsia_status;

/* The name of a status, such as "TARSIA_STATUS_OK", or "unknown status". Thread-safe. */
TARSIA_API const char* tarsia_status_name(tarsia_status status);

/* Describes the error of the last call of this thread that did not return TARSIA_STATUS_OK, in one
 * or more lines; "" if no call has failed yet. The text is valid until the next call of this thread
 * that fails. Successful calls do not change it. Thread-safe: every thread has its own. */
TARSIA_API const char* tarsia_last_error(void);

/* The version of the library, as "0.1.0" and as major << 16 | minor << 8 | patch. Compare it with
 * the macros above, which are the version of the header. Thread-safe. */
TARSIA_API const char* tarsia_version(void);
TARSIA_API uint32_t tarsia_version_number(void);

/* Returns whether the call that received this callback must stop; true ends the call with
 * TARSIA_STATUS_CANCELLED. The library calls it up to some hundred times per second, from any
 * thread, one call at a time. It must not call into the library and must not throw. */
typedef bool (*tarsia_cancel_fn)(void* user);

/* ---- Log ---------------------------------------------------------------------------------- */

typedef enum tarsia_log_level {
  TARSIA_LOG_TRACE = 0,
  TARSIA_LOG_DEBUG = 1,   /* every plan, query and launch */
  TARSIA_LOG_INFO = 2,    /* the default device, if it is not a GPU, and the reason */
  TARSIA_LOG_WARNING = 3, /* every fallback: the driver compiles the PTX, because there is no
                             assembler or because the driver refuses the machine code; a GPU cannot
                             be used */
  TARSIA_LOG_ERROR = 4,   /* every call that fails, except at the end of a list of candidates */
  TARSIA_LOG_OFF = 5,
  TARSIA_LOG_FORCE_32BIT = 0x7fffffff
} tarsia_log_level;

/* Receives one message without a newline. The library calls it from any thread, one call at a time.
 * It must not call into the library and must not throw. */
typedef void (*tarsia_log_fn)(void* user, tarsia_log_level level, const char* message);

/* Sends messages of `level` and above to `callback`; NULL or TARSIA_LOG_OFF ends logging. Nothing
 * is logged before the first call. When the call returns, the previous callback is no longer
 * running. Errors: an unknown level. Thread-safe. */
TARSIA_API tarsia_status tarsia_set_log_callback(tarsia_log_fn callback, void* user,
                                                 tarsia_log_level level);

/* ---- Blobs -------------------------------------------------------------------------------- */

/* Bytes that the library made. A zero byte follows them, so that a text is a C string. */
typedef struct tarsia_blob tarsia_blob;

/* The bytes and their number (without the final zero); NULL and 0 for NULL. Thread-safe. */
TARSIA_API const char* tarsia_blob_data(const tarsia_blob* blob);
TARSIA_API size_t tarsia_blob_size(const tarsia_blob* blob);
TARSIA_API void tarsia_blob_destroy(tarsia_blob* blob);

/* ---- Diagnostics -------------------------------------------------------------------------- */

/* A list of errors, each with a position. Immutable. */
typedef struct tarsia_diagnostics tarsia_diagnostics;

typedef enum tarsia_severity {
  TARSIA_SEVERITY_ERROR = 1,
  TARSIA_SEVERITY_FORCE_32BIT = 0x7fffffff
} tarsia_severity;

typedef struct tarsia_diagnostic {
  size_t size;
  tarsia_severity severity;
  uint32_t line;       /* from 1; 0: no position in a text */
  uint32_t column;     /* from 1, in bytes; 0 without a line */
  uint32_t length;     /* number of bytes, starting at `column`; 0: no position at all */
  uint64_t offset;     /* for bytecode: the position in bytes */
  const char* file;    /* the name of the module, or "" */
  const char* id;      /* stable and in kebab case: "unknown-mnemonic" */
  const char* message; /* one line */
  const char* help;    /* a remedy, or "" */
  size_t note_count;   /* further positions; see tarsia_diagnostics_note */
} tarsia_diagnostic;

typedef struct tarsia_note {
  size_t size;
  uint32_t line;
  uint32_t column;
  uint32_t length;
  const char* message;
} tarsia_note;

/* The number of errors in the list, at most 100. tarsia_diagnostics_total is the number of all
 * errors. Both are 0 for NULL. Thread-safe. */
TARSIA_API size_t tarsia_diagnostics_count(const tarsia_diagnostics* diagnostics);
TARSIA_API size_t tarsia_diagnostics_total(const tarsia_diagnostics* diagnostics);
/* Error `index`, in the order of the positions. Thread-safe. */
TARSIA_API tarsia_status tarsia_diagnostics_get(const tarsia_diagnostics* diagnostics, size_t index,
                                                tarsia_diagnostic* out);
/* Note `note` of error `index`. Thread-safe. */
TARSIA_API tarsia_status tarsia_diagnostics_note(const tarsia_diagnostics* diagnostics,
                                                 size_t index, size_t note, tarsia_note* out);
/* All errors as text: `file:line:column: error: message [id]`, the line, a caret, notes and help.
 * `color` adds colours for a terminal. Thread-safe. */
TARSIA_API tarsia_status tarsia_diagnostics_render(const tarsia_diagnostics* diagnostics,
                                                   bool color, tarsia_blob** out);
TARSIA_API void tarsia_diagnostics_destroy(tarsia_diagnostics* diagnostics);

/* ---- Element types ------------------------------------------------------------------------ */

/* Element types by their frozen numbers, which bytecode also uses. */
typedef enum tarsia_dtype {
  TARSIA_DTYPE_NONE = 0,
  TARSIA_DTYPE_U1 = 1,
  TARSIA_DTYPE_U2 = 2,
  TARSIA_DTYPE_U3 = 3,
  TARSIA_DTYPE_U4 = 4,
  TARSIA_DTYPE_U5 = 5,
  TARSIA_DTYPE_U6 = 6,
  TARSIA_DTYPE_U7 = 7,
  TARSIA_DTYPE_U8 = 8,
  TARSIA_DTYPE_U16 = 9,
  TARSIA_DTYPE_U32 = 10,
  TARSIA_DTYPE_U64 = 11,
  TARSIA_DTYPE_I1 = 12,
  TARSIA_DTYPE_I2 = 13,
  TARSIA_DTYPE_I3 = 14,
  TARSIA_DTYPE_I4 = 15,
  TARSIA_DTYPE_I5 = 16,
  TARSIA_DTYPE_I6 = 17,
  TARSIA_DTYPE_I7 = 18,
  TARSIA_DTYPE_I8 = 19,
  TARSIA_DTYPE_I16 = 20,
  TARSIA_DTYPE_I32 = 21,
  TARSIA_DTYPE_I64 = 22,
  TARSIA_DTYPE_BOOL = 23,
  TARSIA_DTYPE_F16 = 24,
  TARSIA_DTYPE_BF16 = 25,
  TARSIA_DTYPE_TF32 = 26,
  TARSIA_DTYPE_F32 = 27,
  TARSIA_DTYPE_F64 = 28,
  TARSIA_DTYPE_F3E1M1 = 32,
  TARSIA_DTYPE_F3E2M0 = 33,
  TARSIA_DTYPE_F4E1M2 = 34,
  TARSIA_DTYPE_F4E2M1 = 35,
  TARSIA_DTYPE_F4E3M0 = 36,
  TARSIA_DTYPE_F5E1M3 = 37,
  TARSIA_DTYPE_F5E2M2 = 38,
  TARSIA_DTYPE_F5E3M1 = 39,
  TARSIA_DTYPE_F5E4M0 = 40,
  TARSIA_DTYPE_F6E1M4 = 41,
  TARSIA_DTYPE_F6E2M3 = 42,
  TARSIA_DTYPE_F6E3M2 = 43,
  TARSIA_DTYPE_F6E4M1 = 44,
  TARSIA_DTYPE_F6E5M0 = 45,
  TARSIA_DTYPE_F7E1M5 = 46,
  TARSIA_DTYPE_F7E2M4 = 47,
  TARSIA_DTYPE_F7E3M3 = 48,
  TARSIA_DTYPE_F7E4M2 = 49,
  TARSIA_DTYPE_F7E5M1 = 50,
  TARSIA_DTYPE_F7E6M0 = 51,
  TARSIA_DTYPE_F8E1M6 = 52,
  TARSIA_DTYPE_F8E2M5 = 53,
  TARSIA_DTYPE_F8E3M4 = 54,
  TARSIA_DTYPE_F8E4M3 = 55,
  TARSIA_DTYPE_F8E5M2 = 56,
  TARSIA_DTYPE_F8E6M1 = 57,
  TARSIA_DTYPE_F8E7M0 = 58,
  TARSIA_DTYPE_F8E3M4FN = 64,
  TARSIA_DTYPE_F8E4M3FN = 65,
  TARSIA_DTYPE_F8E5M2FN = 66,
  TARSIA_DTYPE_F8E3M4FNUZ = 67,
  TARSIA_DTYPE_F8E4M3FNUZ = 68,
  TARSIA_DTYPE_F8E5M2FNUZ = 69,
  TARSIA_DTYPE_F8E4M3B11FNUZ = 70,
  TARSIA_DTYPE_E8M0 = 80,
  TARSIA_DTYPE_C32 = 81,
  TARSIA_DTYPE_C64 = 82,
  TARSIA_DTYPE_FORCE_32BIT = 0x7fffffff
} tarsia_dtype;

typedef enum tarsia_dtype_kind {
  TARSIA_DTYPE_KIND_UNSIGNED = 1,
  TARSIA_DTYPE_KIND_SIGNED = 2, /* two's complement */
  TARSIA_DTYPE_KIND_BOOL = 3,
  TARSIA_DTYPE_KIND_FLOAT = 4,
  TARSIA_DTYPE_KIND_EXPONENT = 5, /* a power of two without sign */
  TARSIA_DTYPE_KIND_COMPLEX = 6,
  TARSIA_DTYPE_KIND_FORCE_32BIT = 0x7fffffff
} tarsia_dtype_kind;

typedef struct tarsia_dtype_info {
  size_t size;
  tarsia_dtype dtype;
  tarsia_dtype_kind kind;
  uint32_t bits;          /* width in memory */
  uint32_t exponent_bits; /* of floats; of a component, for complex types */
  uint32_t mantissa_bits; /* without the hidden bit */
  int32_t bias;
  bool has_infinity;
  bool has_nan;
  const char* name; /* "f8e4m3fn"; valid as long as the library is loaded */
  const char* doc;  /* one line */
} tarsia_dtype_info;

typedef enum tarsia_rounding {
  TARSIA_ROUNDING_NEAREST_EVEN = 0,
  TARSIA_ROUNDING_TOWARD_ZERO = 1,
  TARSIA_ROUNDING_STOCHASTIC = 2,
  TARSIA_ROUNDING_FORCE_32BIT = 0x7fffffff
} tarsia_rounding;

typedef enum tarsia_overflow {
  TARSIA_OVERFLOW_DEFAULT = 0,        /* saturate for integers and types of at most 8 bits */
  TARSIA_OVERFLOW_SATURATE = 1,       /* the largest finite value */
  TARSIA_OVERFLOW_NON_SATURATING = 2, /* infinity or NaN where the type has one */
  TARSIA_OVERFLOW_WRAP = 3,           /* integers keep their low bits */
  TARSIA_OVERFLOW_FORCE_32BIT = 0x7fffffff
} tarsia_overflow;

/* The number of types, and type `index` of the table. Thread-safe. */
TARSIA_API size_t tarsia_dtype_count(void);
TARSIA_API tarsia_status tarsia_dtype_at(size_t index, tarsia_dtype* out);
/* The type with this name. Errors: NOT_FOUND (the message suggests the nearest). Thread-safe. */
TARSIA_API tarsia_status tarsia_dtype_find(const char* name, tarsia_dtype* out);
TARSIA_API tarsia_status tarsia_dtype_get(tarsia_dtype dtype, tarsia_dtype_info* out);
/* The code of a value, rounded once; only stochastic rounding uses `random`. Thread-safe. */
TARSIA_API tarsia_status tarsia_dtype_encode(tarsia_dtype dtype, double value,
                                             tarsia_rounding rounding, tarsia_overflow overflow,
                                             uint32_t random, uint64_t* code);
/* The value of a code (its low bits); for a complex number, the real part. It is exact, except that
 * 64-bit integers beyond 2^53 are rounded. Thread-safe. */
TARSIA_API tarsia_status tarsia_dtype_decode(tarsia_dtype dtype, uint64_t code, double* value);
/* Converts `count` elements, rounded to nearest even: activations of f32 to f16, say. An element
 * takes the bytes of its type, and at least one. `to` may be `from` if the elements have the same
 * size; else the arrays must not overlap. Errors: INVALID_ARGUMENT. Thread-safe. */
TARSIA_API tarsia_status tarsia_dtype_cast(tarsia_dtype from_type, const void* from,
                                           tarsia_dtype to_type, void* to, size_t count);

/* ---- Modules ------------------------------------------------------------------------------ */

/* Kernels that were read, and that obey every rule that can be checked before their constants have
 * values. Immutable: every function on a module is thread-safe. */
typedef struct tarsia_module tarsia_module;

typedef enum tarsia_format {
  TARSIA_FORMAT_AUTO = 0, /* bytecode if it begins with bytecode's magic, else text */
  TARSIA_FORMAT_TEXT = 1,
  TARSIA_FORMAT_BYTECODE = 2,
  TARSIA_FORMAT_FORCE_32BIT = 0x7fffffff
} tarsia_format;

typedef struct tarsia_module_options {
  size_t size;
  tarsia_format format;
  const char* name; /* the name of the input in messages, such as a file name; NULL: "<input>" */
} tarsia_module_options;

/* Reads a module. `data` need not end in a zero byte, and the library does not keep it. `options`
 * may be NULL. `diagnostics` may be NULL; otherwise it receives the errors if the status is
 * REJECTED (the caller destroys them), and NULL if not. Errors: REJECTED, OUT_OF_MEMORY,
 * INVALID_ARGUMENT. Thread-safe. */
TARSIA_API tarsia_status tarsia_module_create(const void* data, size_t data_size,
                                              const tarsia_module_options* options,
                                              tarsia_module** out,
                                              tarsia_diagnostics** diagnostics);
/* A module of the standard library, by name. Errors: NOT_FOUND. Thread-safe. */
TARSIA_API tarsia_status tarsia_module_create_from_library(const char* name, tarsia_module** out);
TARSIA_API void tarsia_module_destroy(tarsia_module* module);

/* The modules of the standard library, which is part of libtarsia: their number, the name of one
 * (NULL if `index` is too large), and its text. Thread-safe. */
TARSIA_API size_t tarsia_library_count(void);
TARSIA_API const char* tarsia_library_name(size_t index);
TARSIA_API tarsia_status tarsia_library_text(const char* name, tarsia_blob** out);

/* TARSIA_FORMAT_TEXT or TARSIA_FORMAT_BYTECODE, the format that was read; AUTO for NULL. */
TARSIA_API tarsia_format tarsia_module_format(const tarsia_module* module);

/* The module as canonical text, without comments. */
TARSIA_API tarsia_status tarsia_module_print(const tarsia_module* module, tarsia_blob** out);

/* The text in canonical form, with its comments and its blank lines. `diagnostics` as in
 * tarsia_module_create. The text needs correct syntax, but need not be a valid program.
 * Thread-safe. */
TARSIA_API tarsia_status tarsia_format_text(const char* text, size_t text_size, const char* name,
                                            tarsia_blob** out, tarsia_diagnostics** diagnostics);

typedef struct tarsia_encode_options {
  size_t size;
  bool strip;       /* leave out the source locations */
  bool has_version; /* write this version of the format, not the lowest that can express it */
  uint16_t version_major;
  uint16_t version_minor;
} tarsia_encode_options;

/* The module as bytecode; equal modules give equal bytes. `options` may be NULL. Errors:
 * UNSUPPORTED if the requested version is unknown or cannot express the module. */
TARSIA_API tarsia_status tarsia_module_encode(const tarsia_module* module,
                                              const tarsia_encode_options* options,
                                              tarsia_blob** out);

/* ---- What a module holds ------------------------------------------------------------------ */

typedef struct tarsia_kernel_info {
  size_t size;
  const char* name;
  size_t param_count;
  size_t constant_count;
  uint32_t line; /* of its name; 0 if unknown */
  uint32_t column;
} tarsia_kernel_info;

typedef enum tarsia_param_kind {
  TARSIA_PARAM_POINTER = 1,
  TARSIA_PARAM_SCALAR = 2,
  TARSIA_PARAM_FORCE_32BIT = 0x7fffffff
} tarsia_param_kind;

typedef struct tarsia_param_info {
  size_t size;
  tarsia_param_kind kind;
  const char* name;       /* without the `%` */
  const char* dtype_text; /* the type of the scalar or of the pointer: a name or an expression */
  tarsia_dtype dtype;     /* NONE while it depends on constants */
} tarsia_param_info;

typedef enum tarsia_constant_kind {
  TARSIA_CONSTANT_INT = 1,
  TARSIA_CONSTANT_BOOL = 2,
  TARSIA_CONSTANT_DTYPE = 3,
  TARSIA_CONSTANT_REGLAYOUT = 4,
  TARSIA_CONSTANT_MEMLAYOUT = 5,
  TARSIA_CONSTANT_BITLAYOUT = 6,
  TARSIA_CONSTANT_FORCE_32BIT = 0x7fffffff
} tarsia_constant_kind;

typedef struct tarsia_constant_info {
  size_t size;
  tarsia_constant_kind kind;
  const char* name;
  const char* value_text; /* in a module: the default, or NULL; in a plan: the value */
  size_t candidate_count; /* values for a tuner; 0 in a plan */
} tarsia_constant_info;

TARSIA_API size_t tarsia_module_kernel_count(const tarsia_module* module); /* 0 for NULL */
TARSIA_API tarsia_status tarsia_module_kernel(const tarsia_module* module, size_t kernel,
                                              tarsia_kernel_info* out);
/* The index of the kernel with this name. Errors: NOT_FOUND (the message suggests the nearest). */
TARSIA_API tarsia_status tarsia_module_find_kernel(const tarsia_module* module, const char* name,
                                                   size_t* kernel);
TARSIA_API tarsia_status tarsia_module_param(const tarsia_module* module, size_t kernel,
                                             size_t param, tarsia_param_info* out);
TARSIA_API tarsia_status tarsia_module_constant(const tarsia_module* module, size_t kernel,
                                                size_t constant, tarsia_constant_info* out);
/* The text of one candidate of a constant. */
TARSIA_API tarsia_status tarsia_module_candidate(const tarsia_module* module, size_t kernel,
                                                 size_t constant, size_t candidate,
                                                 const char** text);

/* ---- Devices ------------------------------------------------------------------------------ */

typedef struct tarsia_device_info {
  size_t size;
  const char* name;        /* a value of tarsia_plan_options.device: "cpu", "cuda:0", "ptx" */
  const char* description; /* one line; if the device is not available, the reason */
  bool available;
  bool is_default;
  uint32_t threads;        /* of a CPU: the number that run at the same time */
  const char* vector_unit; /* of a CPU: "AVX2"; "" otherwise */
} tarsia_device_info;

/* The devices of this machine, and those that this version knows but does not find: "cpu" (the
 * interpreter), "cuda:N" (a GPU), "ptx" (the PTX emulator). The first call looks for GPUs.
 * Thread-safe. */
TARSIA_API size_t tarsia_device_count(void);
TARSIA_API tarsia_status tarsia_device_get(size_t index, tarsia_device_info* out);

/* A device, open for the functions below. */
typedef struct tarsia_device tarsia_device;

/* Opens a device by name: "cpu"; "ptx" or "ptx:TARGET" (the emulator, with code for that target);
 * "cuda" or "cuda:N"; NULL for the default one, which is the first GPU, else "cpu". All handles of
 * one name, and all plans for it, share one memory. Errors: INVALID_ARGUMENT (no such name),
 * NO_DEVICE (the message names what is missing). Thread-safe. */
TARSIA_API tarsia_status tarsia_device_open(const char* name, tarsia_device** out);
/* Closes a handle. Free the memory and the streams of a device before you close its last handle and
 * destroy the last plan for it. */
TARSIA_API void tarsia_device_close(tarsia_device* device);
/* The full name of the device, such as "cuda:0"; "" for NULL. Thread-safe. */
TARSIA_API const char* tarsia_device_name(const tarsia_device* device);

/* Allocates device memory, aligned to 256 bytes and with undefined contents; 0 bytes give NULL. On
 * "cpu" it is memory of this process. Errors: OUT_OF_MEMORY (the message gives the size).
 * Thread-safe. */
TARSIA_API tarsia_status tarsia_memory_alloc(tarsia_device* device, uint64_t bytes, void** out);
/* Frees memory from tarsia_memory_alloc, which must not be in use; NULL is allowed. On a GPU the
 * call waits for the device. Errors: INVALID_ARGUMENT, if the device detects it. Thread-safe. */
TARSIA_API tarsia_status tarsia_memory_free(tarsia_device* device, void* memory);
/* Copies from the host to the device, copies from the device to the host, or fills device memory
 * with a byte, in the order of the stream. A copy is complete when the call returns; a fill may
 * only be enqueued. `stream` as in tarsia_execute. Thread-safe, if the bytes are not in use. */
TARSIA_API tarsia_status tarsia_memory_write(tarsia_device* device, void* to, const void* from,
                                             uint64_t bytes, void* stream);
TARSIA_API tarsia_status tarsia_memory_read(tarsia_device* device, void* to, const void* from,
                                            uint64_t bytes, void* stream);
TARSIA_API tarsia_status tarsia_memory_fill(tarsia_device* device, void* to, uint8_t value,
                                            uint64_t bytes, void* stream);

/* A stream of the device. On a GPU it is a CUstream, and any other CUstream of the GPU can be used
 * in its place. The devices "cpu" and "ptx" have one stream, NULL, and return it. Thread-safe. */
TARSIA_API tarsia_status tarsia_stream_create(tarsia_device* device, void** out);
TARSIA_API tarsia_status tarsia_stream_destroy(tarsia_device* device, void* stream);
/* Waits until all work on the stream is complete. Errors: LAUNCH_FAILED and NO_DEVICE, if this work
 * failed. Thread-safe. */
TARSIA_API tarsia_status tarsia_stream_synchronize(tarsia_device* device, void* stream);

/* ---- Code --------------------------------------------------------------------------------- */

/* A kernel that was compiled for one target. Immutable: every function on it is thread-safe. */
typedef struct tarsia_code tarsia_code;

/* The targets of the compiler: their number, and the name of one ("sm_90a"; NULL if `index` is too
 * large). Thread-safe. */
TARSIA_API size_t tarsia_target_count(void);
TARSIA_API const char* tarsia_target_name(size_t index);

struct tarsia_binding;

typedef struct tarsia_code_options {
  size_t size;
  const char* target;                    /* "sm_80", "sm_89", "sm_90a"; required */
  const char* kernel;                    /* NULL: the only kernel of the module */
  const struct tarsia_binding* bindings; /* constants that are not named take their default */
  size_t binding_count;
  bool no_line_info;       /* leave out the line information of the text */
  tarsia_cancel_fn cancel; /* can end the compilation; may be NULL */
  void* cancel_user;
  uint64_t compile_limit_ms;  /* ends it when it takes longer; 0: no limit */
  const char* const* without; /* names of passes of the compiler to leave out: those that only make
                                 code faster */
  size_t without_count;
} tarsia_code_options;

/* Compiles a kernel; needs no device. A process does not compile the same program with the same
 * values for the same target again, as long as a plan or code from this compilation exists, and for
 * the newest few compilations beyond that. `diagnostics` as in tarsia_module_create. Errors:
 * REJECTED (also if the kernel exceeds a limit of the target), NOT_FOUND, INVALID_ARGUMENT (for an
 * unknown target or pass, the message lists the known ones), OUT_OF_MEMORY, CANCELLED. Thread-safe.
 *
 * With CANCELLED the call returns at once. The current step of the compiler continues on a thread
 * until it can be abandoned, and is freed there. A process that returns from main or calls exit()
 * waits for it. */
TARSIA_API tarsia_status tarsia_code_create(const tarsia_module* module,
                                            const tarsia_code_options* options, tarsia_code** out,
                                            tarsia_diagnostics** diagnostics);
TARSIA_API void tarsia_code_destroy(tarsia_code* code);

typedef struct tarsia_code_info {
  size_t size;
  const char* target;
  const char* entry;     /* the kernel's name in the code */
  uint32_t threads;      /* of a block */
  uint64_t shared_bytes; /* dynamic shared memory of a block */
  size_t ptx_bytes;
} tarsia_code_info;

TARSIA_API tarsia_status tarsia_code_get(const tarsia_code* code, tarsia_code_info* out);

typedef enum tarsia_code_form {
  TARSIA_CODE_PTX = 1,
  TARSIA_CODE_LLVM = 2,    /* LLVM IR before optimisation */
  TARSIA_CODE_LAYOUTS = 3, /* the layout of every tile, chosen or given */
  TARSIA_CODE_CUBIN = 4,   /* machine code; needs ptxas */
  TARSIA_CODE_SASS = 5,    /* its text; needs ptxas and nvdisasm */
  TARSIA_CODE_MIX = 6,     /* a table of the number of instructions of each class, in the main
                              loop and in total; needs ptxas and nvdisasm */
  TARSIA_CODE_FACTS = 7,   /* for each access to memory, what is proven of it and what would help */
  TARSIA_CODE_FORCE_32BIT = 0x7fffffff
} tarsia_code_form;

/* The code in one form. Errors: NO_DEVICE if a tool is missing (the message names it, and the
 * places that were searched). */
TARSIA_API tarsia_status tarsia_code_emit(const tarsia_code* code, tarsia_code_form form,
                                          tarsia_blob** out);

/* The resources of the machine code, as ptxas reports them. */
typedef struct tarsia_code_resources {
  size_t size;
  uint32_t registers; /* of a thread */
  uint32_t barriers;
  uint64_t stack_bytes; /* of a thread */
  uint64_t spill_store_bytes;
  uint64_t spill_load_bytes;
  size_t cubin_bytes;
  size_t warning_count; /* lines of warnings */
} tarsia_code_resources;

/* Assembles the code. Errors: those of tarsia_code_emit for a cubin. */
TARSIA_API tarsia_status tarsia_code_assemble(const tarsia_code* code, tarsia_code_resources* out);

/* ---- Plans -------------------------------------------------------------------------------- */

/* A kernel with values for its constants, prepared for a device. Immutable: every function on a
 * plan is thread-safe, and many threads may execute a plan at the same time. It does not need its
 * module after its creation. */
typedef struct tarsia_plan tarsia_plan;

typedef struct tarsia_binding {
  size_t size;
  const char* name; /* of a constant */
  const char* text; /* its value, as written in a program: "4096", "u4", "row_major" */
} tarsia_binding;

typedef struct tarsia_plan_options {
  size_t size;
  const char* device;             /* NULL: the default device */
  const char* kernel;             /* NULL: the only kernel of the module */
  const tarsia_binding* bindings; /* constants that are not named take their default */
  size_t binding_count;
  uint64_t flags;           /* must be 0; there are no flags yet */
  uint64_t workspace_limit; /* in bytes; 0: no limit. A kernel, or scalars, that need a larger
                               workspace are REJECTED. Lines of `print` use the space that is left
                               and are dropped beyond it */
  tarsia_cancel_fn cancel;  /* can end the compilation; may be NULL */
  void* cancel_user;
  uint64_t compile_limit_ms;  /* ends it when it takes longer; 0: no limit */
  const char* const* without; /* as in tarsia_code_options; "cpu" runs the program as it is */
  size_t without_count;
} tarsia_plan_options;

/* Makes a plan. The call does all work that is possible before a launch; it compiles like
 * tarsia_code_create. `options` may be NULL. `diagnostics` as in tarsia_module_create. Errors:
 * REJECTED (a constant is unknown, missing or wrong, a `require` does not hold, the workspace
 * exceeds its limit), NOT_FOUND (no such kernel), NO_DEVICE, UNSUPPORTED, INVALID_ARGUMENT,
 * OUT_OF_MEMORY, CANCELLED. Thread-safe. */
TARSIA_API tarsia_status tarsia_plan_create(const tarsia_module* module,
                                            const tarsia_plan_options* options, tarsia_plan** out,
                                            tarsia_diagnostics** diagnostics);
TARSIA_API void tarsia_plan_destroy(tarsia_plan* plan);

/* All that executing the plan needs, as bytes: the kernel with its constants, its PTX, and its
 * machine code where ptxas was found. Another process loads them without a compiler, also through
 * libtarsia_loader. They fit only the build of the library that made them. Errors: OUT_OF_MEMORY,
 * REJECTED. Thread-safe. */
TARSIA_API tarsia_status tarsia_plan_save(const tarsia_plan* plan, tarsia_blob** out);
/* The same into a file, which appears when it is complete. Errors: also NO_DEVICE, for a file that
 * cannot be written. Thread-safe. */
TARSIA_API tarsia_status tarsia_plan_save_file(const tarsia_plan* plan, const char* path);

/* Makes a plan from the bytes of tarsia_plan_save, which are not needed after the call. `device`
 * may be NULL: the default device. "cpu" takes the plans of every device. The code in the bytes is
 * run as it is, so load only what you trust; apart from that, bytes that are damaged do no harm.
 * Errors: REJECTED (the bytes are not a whole plan), UNSUPPORTED (the message says what does not
 * fit: the version of the library, its build, the target of the device, or the hash of the bytes),
 * INVALID_ARGUMENT, NO_DEVICE, OUT_OF_MEMORY. Thread-safe. */
TARSIA_API tarsia_status tarsia_plan_load(tarsia_device* device, const void* data, size_t data_size,
                                          tarsia_plan** out);
/* The same from a file. Errors: also INVALID_ARGUMENT, for a file that cannot be read. Thread-safe.
 */
TARSIA_API tarsia_status tarsia_plan_load_file(tarsia_device* device, const char* path,
                                               tarsia_plan** out);

typedef struct tarsia_plan_info {
  size_t size;
  const char* kernel;
  const char* device;
  size_t param_count;
  size_t constant_count;
  uint32_t warps; /* of a block */
} tarsia_plan_info;

TARSIA_API tarsia_status tarsia_plan_get(const tarsia_plan* plan, tarsia_plan_info* out);
TARSIA_API tarsia_status tarsia_plan_param(const tarsia_plan* plan, size_t param,
                                           tarsia_param_info* out);
TARSIA_API tarsia_status tarsia_plan_constant(const tarsia_plan* plan, size_t constant,
                                              tarsia_constant_info* out);
/* The code that the plan runs; the caller destroys it. Errors: UNSUPPORTED on "cpu", which
 * interprets the program. */
TARSIA_API tarsia_status tarsia_plan_code(const tarsia_plan* plan, tarsia_code** out);

/* ---- Cache of compiled code ----------------------------------------------------------------- */

/* PTX and machine code are kept in a folder between runs, which processes share. An entry is found
 * only by the same program, constants, target, options, and build of the library. */
typedef struct tarsia_cache_options {
  size_t size;
  const char* path; /* the folder, which is made when it is needed; "": no cache; NULL: that of the
                       environment: TARSIA_CACHE, else $XDG_CACHE_HOME/tarsia, ~/.cache/tarsia */
  uint64_t limit;   /* the most bytes of all entries; beyond it, those that were not used for the
                       longest time are removed. 0: TARSIA_CACHE_LIMIT, else 1 GiB */
} tarsia_cache_options;

/* Sets the cache of this process from now on. NULL: that of the environment. Thread-safe. */
TARSIA_API tarsia_status tarsia_cache_configure(const tarsia_cache_options* options);

typedef struct tarsia_cache_info {
  size_t size;
  const char* path; /* "": no cache; valid until the thread's next call of tarsia_cache_get */
  uint64_t limit;   /* in bytes */
  size_t entries;
  uint64_t bytes;
} tarsia_cache_info;

/* Where the cache is and what it holds. Errors: NO_DEVICE (its folder cannot be read). Thread-safe.
 */
TARSIA_API tarsia_status tarsia_cache_get(tarsia_cache_info* out);
/* Removes entries until the rest has at most `bytes` bytes; 0 removes all. `removed` may be NULL;
 * otherwise it receives the bytes. Errors: NO_DEVICE (an entry cannot be removed). Thread-safe. */
TARSIA_API tarsia_status tarsia_cache_prune(uint64_t bytes, uint64_t* removed);

/* ---- Arguments ---------------------------------------------------------------------------- */

typedef enum tarsia_arg_kind {
  TARSIA_ARG_POINTER = 1,       /* memory that the kernel may read and write */
  TARSIA_ARG_CONST_POINTER = 2, /* memory that it may only read; a write makes the launch fail */
  TARSIA_ARG_SCALAR = 3,
  TARSIA_ARG_FORCE_32BIT = 0x7fffffff
} tarsia_arg_kind;

/* The argument of one parameter. A pointer points to memory of the plan's device
 * (tarsia_memory_alloc, or an allocation of the CUDA driver); on "cpu", to any memory of this
 * process. A null pointer is allowed with 0 bytes. */
typedef struct tarsia_arg {
  size_t size;
  tarsia_arg_kind kind;
  tarsia_dtype dtype; /* of a scalar: the type of the parameter */
  union {
    struct {
      void* data;
      uint64_t bytes;
    } pointer;
    uint64_t code; /* any scalar: its code in the low bits */
    bool boolean;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
  } value;
} tarsia_arg;

/* Functions that make arguments. */
static inline tarsia_arg tarsia_arg_scalar(tarsia_dtype dtype, uint64_t code) {
  tarsia_arg arg = {sizeof(tarsia_arg), TARSIA_ARG_SCALAR, dtype, {{0, 0}}};
  arg.value.code = code;
  return arg;
}
static inline tarsia_arg tarsia_arg_pointer(void* data, uint64_t bytes) {
  tarsia_arg arg = {sizeof(tarsia_arg), TARSIA_ARG_POINTER, TARSIA_DTYPE_NONE, {{0, 0}}};
  arg.value.pointer.data = data;
  arg.value.pointer.bytes = bytes;
  return arg;
}
static inline tarsia_arg tarsia_arg_const_pointer(const void* data, uint64_t bytes) {
  tarsia_arg arg = tarsia_arg_pointer((void*)(uintptr_t)data, bytes);
  arg.kind = TARSIA_ARG_CONST_POINTER;
  return arg;
}
static inline tarsia_arg tarsia_arg_i32(int32_t value) {
  tarsia_arg arg = tarsia_arg_scalar(TARSIA_DTYPE_I32, 0);
  arg.value.i32 = value;
  return arg;
}
static inline tarsia_arg tarsia_arg_i64(int64_t value) {
  tarsia_arg arg = tarsia_arg_scalar(TARSIA_DTYPE_I64, 0);
  arg.value.i64 = value;
  return arg;
}
static inline tarsia_arg tarsia_arg_u32(uint32_t value) {
  return tarsia_arg_scalar(TARSIA_DTYPE_U32, value);
}
static inline tarsia_arg tarsia_arg_u64(uint64_t value) {
  return tarsia_arg_scalar(TARSIA_DTYPE_U64, value);
}
static inline tarsia_arg tarsia_arg_bool(bool value) {
  return tarsia_arg_scalar(TARSIA_DTYPE_BOOL, value ? 1 : 0);
}
static inline tarsia_arg tarsia_arg_f32(float value) {
  tarsia_arg arg = tarsia_arg_scalar(TARSIA_DTYPE_F32, 0);
  arg.value.f32 = value;
  return arg;
}
static inline tarsia_arg tarsia_arg_f64(double value) {
  tarsia_arg arg = tarsia_arg_scalar(TARSIA_DTYPE_F64, 0);
  arg.value.f64 = value;
  return arg;
}

/* ---- Queries ------------------------------------------------------------------------------ */

/* The requirements of a plan for given scalars. Immutable: every function on it is thread-safe. */
typedef struct tarsia_query tarsia_query;

#define TARSIA_MAX_RANK 8

typedef struct tarsia_geometry {
  size_t size;
  int64_t grid[3]; /* blocks along x, y, z; if one is 0, nothing runs */
  uint32_t warps;  /* of a block */
  uint32_t threads;
  uint64_t workspace_bytes; /* memory that tarsia_execute needs in addition to the arguments */
} tarsia_geometry;

/* A view that the kernel makes of a pointer parameter. Only views whose shape follows from scalars
 * and constants are listed; the program checks the others when it makes them. */
typedef struct tarsia_view {
  size_t size;
  size_t param;
  tarsia_dtype dtype;
  size_t rank;
  int64_t shape[TARSIA_MAX_RANK];
  uint64_t bytes;     /* the size that the pointer's memory must have */
  bool row_major;     /* dense, the last dimension varies fastest */
  bool unconditional; /* not in a loop, and not in a branch whose condition is not constant */
  bool writes;        /* the program may write through it */
  const char* text;   /* "global<f16>[16, 64]" */
  uint32_t line;      /* in the text; 0 if unknown */
  uint32_t column;
} tarsia_view;

/* Makes a query. `args` are those of tarsia_execute; of a pointer, only the kind is used, so it may
 * be null. Errors: INVALID_ARGUMENT (wrong number, kind or type of arguments), REJECTED (the
 * scalars make a shape or a grid that is negative or too large). Thread-safe. */
TARSIA_API tarsia_status tarsia_query_create(const tarsia_plan* plan, const tarsia_arg* args,
                                             size_t arg_count, tarsia_query** out);
TARSIA_API void tarsia_query_destroy(tarsia_query* query);
TARSIA_API tarsia_status tarsia_query_geometry(const tarsia_query* query, tarsia_geometry* out);
/* The views of pointer parameters, in the order of the text; a parameter may have none, one or
 * several. The count is 0 for NULL. */
TARSIA_API size_t tarsia_query_view_count(const tarsia_query* query);
TARSIA_API tarsia_status tarsia_query_view(const tarsia_query* query, size_t index,
                                           tarsia_view* out);
/* The size that the memory of pointer parameter `param` must have: the largest size of its
 * unconditional views. Errors: the parameter is not a pointer. */
TARSIA_API tarsia_status tarsia_query_pointer_bytes(const tarsia_query* query, size_t param,
                                                    uint64_t* bytes);

/* ---- Execution ---------------------------------------------------------------------------- */

/* The report of a launch. Immutable. */
typedef struct tarsia_report tarsia_report;

/* Receives a line without a newline: `size` bytes and a zero byte. Must not throw. */
typedef void (*tarsia_text_fn)(void* user, const char* text, size_t size);

/* Receives the number of complete blocks and the number of all blocks. Must not throw. */
typedef void (*tarsia_progress_fn)(void* user, uint64_t done, uint64_t total);

typedef enum tarsia_execute_flags {
  TARSIA_EXECUTE_CHECK = 1, /* detects races, reads of bytes that were never written, reads of
                               asynchronous copies before their wait, accesses outside a buffer, and
                               overlapping buffers; slow. For "cpu" and "ptx"; "ptx" always checks
                               the code that it runs, and with this flag also the buffers */
  TARSIA_EXECUTE_FLAGS_FORCE_32BIT = 0x7fffffff
} tarsia_execute_flags;

typedef struct tarsia_execute_options {
  size_t size;
  uint32_t flags;       /* of tarsia_execute_flags */
  uint32_t threads;     /* the largest number of CPU threads to use; 0: all */
  tarsia_text_fn print; /* receives what `print` instructions write; NULL: it is dropped. The
                           library calls it from one thread at a time */
  void* print_user;
  tarsia_text_fn trace; /* receives every instruction of one block as it runs, with its result;
                           NULL: no trace */
  void* trace_user;
  const char* trace_value; /* trace only assignments to this value, without `%`; NULL: all */
  int64_t trace_block[3];  /* the block to trace */
  uint64_t
      max_instructions; /* limit for all blocks together; beyond it the launch fails. 0: none */
  tarsia_progress_fn progress; /* called a few times per second during a long launch, from one
                                  thread at a time, with counts that never decrease; may be NULL */
  void* progress_user;
  tarsia_cancel_fn cancel; /* can end the launch, on "cpu" and "ptx"; on a GPU it is called once,
                              before the kernel is enqueued. May be NULL */
  void* cancel_user;
} tarsia_execute_options;

/* Runs the plan's kernel. On a GPU the call enqueues it on `stream` (a CUstream; NULL is the
 * default stream) and returns without waiting, unless `report` or `options->print` is set, whose
 * contents are known only at the end. On "cpu" and "ptx" `stream` must be NULL, and the call
 * returns when the launch is complete. `args` has one argument for each parameter, in order.
 * `workspace` must have the size that the query gives, be aligned to 256 bytes, and be prepared by
 * tarsia_workspace_init; it may be NULL if the size is 0, and serves one stream at a time.
 * `options` may be NULL. `report` may be NULL; otherwise it receives a report with OK,
 * LAUNCH_FAILED and FINDINGS (the caller destroys it), and NULL with any other status.
 *
 * Every call checks the number, kinds and types of the arguments, every `assume`, and that the
 * memory of every pointer has the size that its views need. No access leaves this memory. A buffer
 * that the program writes must not overlap another argument.
 *
 * On "cpu" the first launch of a plan allocates the memory of its blocks, and the plan keeps it:
 * for each of the first 32 launches that run at the same time, the tiles of one block for every
 * thread, up to 64 MiB. A later launch allocates nothing for them, except in these cases: more
 * launches than ever before run at the same time; the launch asks for more threads or for larger
 * scratch (alloc.global) than any before; it needs more than 16 MiB for all threads; it makes views
 * of packed or swizzled layouts whose extents change; or it has output: an error, a report,
 * `print`, a trace, TARSIA_EXECUTE_CHECK. The library owns the helper threads. It starts them when
 * they are first needed. They sleep between launches and receive no signals. A child of fork()
 * starts its own. A short launch runs on the calling thread alone and waits for no other. On "ptx"
 * one launch runs at a time.
 *
 * On a GPU a launch that is enqueued and succeeds makes no host allocation (for a kernel with at
 * most 64 parameters and 32 scratch allocations), and may be captured into a CUDA graph. A call
 * that would wait for a stream that is being captured returns INVALID_ARGUMENT, and the capture
 * stays valid.
 *
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (an option that the device does not have), REJECTED (the
 * scalars need a workspace beyond the plan's limit), NO_DEVICE (the device was lost),
 * LAUNCH_FAILED, OUT_OF_MEMORY and CANCELLED (the contents of writable buffers are then
 * unspecified), FINDINGS. Thread-safe, if no launch writes memory that another one uses. */
TARSIA_API tarsia_status tarsia_execute(const tarsia_plan* plan, const tarsia_arg* args,
                                        size_t arg_count, void* workspace, void* stream,
                                        const tarsia_execute_options* options,
                                        tarsia_report** report);

/* Prepares a workspace of `workspace_bytes` for the launches that follow. Call it once for a
 * workspace and a plan. The workspace then serves launches with any scalars whose query gives at
 * most this size; the scalars among `args` are an example (of a pointer, only the kind is used).
 * `workspace_bytes` must be at least the size that the query gives for them. The work is enqueued
 * on `stream`, which may be captured into a CUDA graph. Errors: INVALID_ARGUMENT, REJECTED (as in
 * tarsia_query_create). Thread-safe. */
TARSIA_API tarsia_status tarsia_workspace_init(const tarsia_plan* plan, const tarsia_arg* args,
                                               size_t arg_count, void* workspace,
                                               uint64_t workspace_bytes, void* stream);
/* Waits for the stream, and reports what earlier launches without a report left in the workspace:
 * failed assertions, and the lines of `print` if `options->print` is set. `args` as in
 * tarsia_execute. `report` and errors as there. Thread-safe. */
TARSIA_API tarsia_status tarsia_workspace_report(const tarsia_plan* plan, const tarsia_arg* args,
                                                 size_t arg_count, void* workspace, void* stream,
                                                 const tarsia_execute_options* options,
                                                 tarsia_report** report);

typedef struct tarsia_report_info {
  size_t size;
  uint64_t blocks;       /* number of blocks that ran; 0 if the program was stopped */
  uint64_t instructions; /* of all blocks together; on "ptx", PTX instructions of all threads; on a
                            GPU 0, as it does not count them */
  uint64_t nanoseconds;  /* duration of the launch */
} tarsia_report_info;

TARSIA_API tarsia_status tarsia_report_get(const tarsia_report* report, tarsia_report_info* out);
/* The findings of TARSIA_EXECUTE_CHECK, or the error that stopped the program; the report owns
 * them. */
TARSIA_API const tarsia_diagnostics* tarsia_report_findings(const tarsia_report* report);
TARSIA_API void tarsia_report_destroy(tarsia_report* report);

/* ---- Graphs ------------------------------------------------------------------------------- */

/* A graph of a module (docs/graphs.md) is computed below a memory limit: the planner finds kernels,
 * an order, and a place for every tensor in one allocation, the arena (docs/reductions.md). */

typedef struct tarsia_graph_info {
  size_t size;
  const char* name;
  size_t input_count;
  size_t output_count;
  uint32_t line; /* of its name; 0 if unknown */
  uint32_t column;
} tarsia_graph_info;

TARSIA_API size_t tarsia_module_graph_count(const tarsia_module* module); /* 0 for NULL */
TARSIA_API tarsia_status tarsia_module_graph(const tarsia_module* module, size_t graph,
                                             tarsia_graph_info* out);

/* A graph with values for its constants, planned below a limit and prepared for a device.
 * Immutable: every function on it is thread-safe. It does not need its module after its
 * creation. */
typedef struct tarsia_graph_plan tarsia_graph_plan;

typedef enum tarsia_limit_kind {
  TARSIA_LIMIT_TOTAL = 0,   /* the limit counts all tensors */
  TARSIA_LIMIT_SCRATCH = 1, /* all but inputs and outputs, which stay in memory of the caller */
  TARSIA_LIMIT_FORCE_32BIT = 0x7fffffff
} tarsia_limit_kind;

typedef enum tarsia_graph_plan_flags {
  TARSIA_GRAPH_PLAN_ONLY = 1, /* do not prepare the kernels for a device; tarsia_graph_execute
                                 refuses the plan */
  TARSIA_GRAPH_FAST = 2, /* squared distances may be |a|^2 + |b|^2 - 2 a.b, which is fast and has an
                            error relative to |a|^2 + |b|^2; elements must be finite */
  TARSIA_GRAPH_STRICT_ORDER = 4, /* no axis is split along which a reduction goes */
  TARSIA_GRAPH_NO_RECOMPUTE = 8, /* the result of each reduction is in memory, and is computed
                                    once */
  TARSIA_GRAPH_PLAN_FLAGS_FORCE_32BIT = 0x7fffffff
} tarsia_graph_plan_flags;

typedef struct tarsia_graph_plan_options {
  size_t size;
  const char* device;             /* NULL: the default device */
  const char* graph;              /* NULL: the only graph of the module */
  const tarsia_binding* bindings; /* constants that are not named take their default */
  size_t binding_count;
  uint64_t limit; /* in bytes; 0: none */
  tarsia_limit_kind limit_kind;
  uint32_t flags;          /* of tarsia_graph_plan_flags */
  tarsia_cancel_fn cancel; /* can end the compilation; may be NULL */
  void* cancel_user;
  uint64_t compile_limit_ms; /* ends the compilation of the kernels when it takes longer; 0: no
                                limit */
  uint32_t rank;             /* with `ranks`: plans the share of this rank; from 0 */
  uint32_t ranks;            /* 0 and 1: nothing is shared; at most 4096 */
} tarsia_graph_plan_options;

/* Plans a graph, and compiles the kernels of the plan for the device. A plan is a function of the
 * graph, the values of its constants, and the limit. With `ranks` above 1, each of as many
 * processes or devices makes the plan of its rank, with the same graph, constants and options
 * besides, and executes it at the same time as the others. The planner chooses an axis of which
 * each rank has a range; every rank needs the whole memory that the limit allows. `options` may be
 * NULL. `diagnostics` as in tarsia_module_create. Errors: REJECTED (a constant is unknown, missing
 * or wrong; an operation that this version does not plan; or the limit is too low: the help of the
 * diagnostic, one of `plan-limit`, `plan-inputs`, `plan-solved`, `plan-strict-order` and
 * `plan-recompute`, is "smallest limit: N bytes"), NOT_FOUND (no such graph), NO_DEVICE,
 * UNSUPPORTED, INVALID_ARGUMENT, OUT_OF_MEMORY, CANCELLED. Thread-safe. */
TARSIA_API tarsia_status tarsia_graph_plan_create(const tarsia_module* module,
                                                  const tarsia_graph_plan_options* options,
                                                  tarsia_graph_plan** out,
                                                  tarsia_diagnostics** diagnostics);
TARSIA_API void tarsia_graph_plan_destroy(tarsia_graph_plan* plan);

typedef struct tarsia_graph_plan_info {
  size_t size;
  const char* graph;
  const char* device; /* "" with TARSIA_GRAPH_PLAN_ONLY */
  uint64_t peak;      /* the size of the arena in bytes; at most the limit */
  uint64_t limit;     /* 0: none */
  tarsia_limit_kind limit_kind;
  size_t input_count;
  size_t output_count;
  size_t kernel_count;
  size_t step_count;
  const char* shared_axis; /* "": nothing is shared, and this plan computes all */
  int64_t share_begin;     /* the elements of that axis which this rank has, without the end */
  int64_t share_end;
} tarsia_graph_plan_info;

TARSIA_API tarsia_status tarsia_graph_plan_get(const tarsia_graph_plan* plan,
                                               tarsia_graph_plan_info* out);

/* An input or an output: dense, the last axis contiguous. Elements of less than 8 bits are packed
 * without gaps, the first one in the lowest bits. */
typedef struct tarsia_graph_tensor {
  size_t size;
  const char* name; /* without the `%` */
  tarsia_dtype dtype;
  size_t rank;
  const int64_t* shape; /* `rank` extents; valid as long as the plan exists */
  uint64_t bytes;
  bool used;   /* false: an input that nothing reads; it may be left out */
  bool shared; /* the execution reads or writes only the elements from `share_begin` to `share_end`
                  of the shared axis. Outputs without this are computed by every rank. */
} tarsia_graph_tensor;

/* Input or output `index` in the order of the graph. */
TARSIA_API tarsia_status tarsia_graph_plan_input(const tarsia_graph_plan* plan, size_t index,
                                                 tarsia_graph_tensor* out);
TARSIA_API tarsia_status tarsia_graph_plan_output(const tarsia_graph_plan* plan, size_t index,
                                                  tarsia_graph_tensor* out);
/* The certificate of the plan as JSON: docs/reductions.md describes it. */
TARSIA_API tarsia_status tarsia_graph_plan_certificate(const tarsia_graph_plan* plan,
                                                       tarsia_blob** out);
/* The kernels of the plan as the text of a module. */
TARSIA_API tarsia_status tarsia_graph_plan_kernels(const tarsia_graph_plan* plan,
                                                   tarsia_blob** out);

/* Reads bytes of an input, from `offset` on, into `to`. Returns false if that fails, which ends the
 * execution with LAUNCH_FAILED. The library calls the callbacks of one execution from any thread,
 * one call at a time, beside the kernels. If the plan needs several passes over an input, its bytes
 * are read several times. They must not throw. */
typedef bool (*tarsia_tensor_read_fn)(void* user, uint64_t offset, void* to, uint64_t bytes);
/* Takes bytes of an output, which are its bytes from `offset` on; as above. Every byte of the
 * output is passed exactly once. */
typedef bool (*tarsia_tensor_write_fn)(void* user, uint64_t offset, const void* from,
                                       uint64_t bytes);

/* Sends bytes to another rank, and receives as many bytes as the other one sends, in the order in
 * which it sends them. They may wait for the other rank, and return false if it cannot be reached,
 * which ends the execution with LAUNCH_FAILED. The thread of the execution calls them. */
typedef bool (*tarsia_send_fn)(void* user, uint32_t to, const void* from, uint64_t bytes);
typedef bool (*tarsia_receive_fn)(void* user, uint32_t from, void* to, uint64_t bytes);

/* An input of an execution: memory or a callback. With TARSIA_LIMIT_TOTAL, `data` is memory of the
 * host, which is copied into the arena, as a whole or chunk by chunk. With TARSIA_LIMIT_SCRATCH it
 * is memory of the device, which kernels read in place; a tensor with a callback gets memory from
 * the library. */
typedef struct tarsia_graph_input {
  size_t size;
  const void* data;
  uint64_t bytes; /* of `data` */
  tarsia_tensor_read_fn read;
  void* user;
} tarsia_graph_input;

/* An output, likewise. With TARSIA_LIMIT_TOTAL, an output without memory and callback is computed
 * and dropped. */
typedef struct tarsia_graph_output {
  size_t size;
  void* data;
  uint64_t bytes; /* of `data` */
  tarsia_tensor_write_fn write;
  void* user;
} tarsia_graph_output;

typedef struct tarsia_graph_execute_options {
  size_t size;
  uint32_t threads; /* the largest number of CPU threads to use; 0: all */
  void* arena;      /* memory of the device of at least `peak` bytes, aligned to 256 bytes; NULL:
                       the library allocates it and frees it at the end */
  uint64_t arena_bytes;
  tarsia_progress_fn progress; /* receives the number of complete steps and of all; may be NULL */
  void* progress_user;
  tarsia_cancel_fn cancel; /* can end the execution; on a GPU between two steps. May be NULL */
  void* cancel_user;
  tarsia_send_fn send; /* with the other ranks; needed for a plan that is shared */
  tarsia_receive_fn receive;
  void* exchange_user;
  uint64_t host_limit; /* the most bytes of the host's memory for transfers to and from a device
                          with memory of its own: at least 4096; 0: 1 MiB. Callbacks get parts of
                          this size */
} tarsia_graph_execute_options;

/* Computes the outputs, and returns when they are complete. `inputs` and `outputs` have one struct
 * for each input and output, in the order of the graph. Kernels allocate no memory besides the
 * arena (the interpreter's own tiles, a few hundred KiB for each thread, are not counted).
 * `options` may be NULL. `report` may be NULL; otherwise it receives the sums over all launches
 * (the caller destroys it). Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, LAUNCH_FAILED (also if a
 * callback returns false) and CANCELLED; after the last three the contents of outputs are
 * unspecified. Thread-safe, if no execution writes memory that another one uses. */
TARSIA_API tarsia_status tarsia_graph_execute(const tarsia_graph_plan* plan,
                                              const tarsia_graph_input* inputs, size_t input_count,
                                              const tarsia_graph_output* outputs,
                                              size_t output_count,
                                              const tarsia_graph_execute_options* options,
                                              tarsia_report** report);

/* ---- Packed weights ----------------------------------------------------------------------- */

/* A quantised matrix w[K, N] in the order in which kernels read it (docs/weights.md), with scales
 * and perhaps zero points: (value(code) - zero) * scale * tensor_scale for each weight. Immutable.
 */
typedef struct tarsia_weights tarsia_weights;

typedef enum tarsia_zero_point {
  TARSIA_ZERO_POINT_NONE = 0,
  TARSIA_ZERO_POINT_INTEGER = 1, /* u8, or i8 for signed types */
  TARSIA_ZERO_POINT_FLOAT = 2,
  TARSIA_ZERO_POINT_FORCE_32BIT = 0x7fffffff
} tarsia_zero_point;

typedef enum tarsia_scale_rule {
  TARSIA_SCALE_RULE_ABSMAX = 0,        /* no weight saturates */
  TARSIA_SCALE_RULE_LEAST_SQUARES = 1, /* the sum of squared errors is small */
  TARSIA_SCALE_RULE_FORCE_32BIT = 0x7fffffff
} tarsia_scale_rule;

/* The parts of packed weights: what a kernel reads. */
typedef enum tarsia_weights_part_kind {
  TARSIA_WEIGHTS_CODES = 1,
  TARSIA_WEIGHTS_SCALES = 2,
  TARSIA_WEIGHTS_ZEROS = 3,
  TARSIA_WEIGHTS_GATHER = 4,   /* int32_t[k]: row i belongs to column gather[i] of x */
  TARSIA_WEIGHTS_CODEBOOK = 5, /* float[2^bits] */
  TARSIA_WEIGHTS_FORCE_32BIT = 0x7fffffff
} tarsia_weights_part_kind;

typedef struct tarsia_quantise_options {
  size_t size;
  tarsia_dtype type;       /* an integer or float of at most 8 bits; ignored with a codebook */
  const char* codebook;    /* "nf4", "iq4_nl", "fp4", or NULL */
  tarsia_dtype compute;    /* the type of the activations: f16, bf16, i8 or f8e4m3fn */
  int64_t group;           /* rows that share a scale; 0: all of a column */
  int64_t columns;         /* columns that share a scale; 0 means 1 */
  tarsia_dtype scale_type; /* f32, f16, bf16, e8m0, or f8e4m3fn with a scale of the tensor */
  tarsia_zero_point zero;
  tarsia_scale_rule rule;
  tarsia_progress_fn progress; /* receives the blocks that are done and all; may be NULL */
  void* progress_user;
  tarsia_cancel_fn cancel; /* may be NULL; asked where `progress` is called */
  void* cancel_user;
} tarsia_quantise_options;

/* Quantises a matrix of f16, bf16, f32 or f64, [k, n] or, transposed, [n, k], dense and row-major,
 * of `bytes` bytes, and packs it, on all cores. Errors: INVALID_ARGUMENT (a wrong size, type or
 * group), REJECTED (a weight that is not finite, or negative where the type has no negative values,
 * or that needs a larger scale than its type has), CANCELLED, OUT_OF_MEMORY. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_quantise(const void* data, size_t bytes, tarsia_dtype dtype,
                                                 int64_t k, int64_t n, bool transposed,
                                                 const tarsia_quantise_options* options,
                                                 tarsia_weights** out);

/* A matrix that is quantised already. */
typedef struct tarsia_codes {
  size_t size;
  tarsia_dtype type; /* of the codes */
  tarsia_dtype compute;
  int64_t k, n;
  int64_t group;        /* rows that share a scale; k: all of a column */
  const uint8_t* codes; /* [k, n]: a pattern of bits in each byte */
  size_t code_count;
  tarsia_dtype scale_type;
  const float* scales; /* [k / group, n], values of scale_type */
  size_t scale_count;
  tarsia_zero_point zero;
  const float* zeros; /* [k / group, n]; NULL without zero points */
  size_t zero_count;
  float tensor_scale;          /* 0 means 1 */
  const int32_t* gather;       /* k entries, or NULL */
  const float* codebook;       /* 2^bits values, or NULL */
  tarsia_progress_fn progress; /* as in tarsia_quantise_options */
  void* progress_user;
  tarsia_cancel_fn cancel;
  void* cancel_user;
} tarsia_codes;

/* Packs codes. Errors: INVALID_ARGUMENT (counts that do not fit the shape), REJECTED (a value that
 * its type cannot hold: scales are not rounded), CANCELLED, OUT_OF_MEMORY. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_pack(const tarsia_codes* codes, tarsia_weights** out);

/* Maps a .tsw file into memory and verifies it; it must not change while the handle exists. Errors:
 * INVALID_ARGUMENT (a file that cannot be read), REJECTED (it is damaged, or of another version),
 * OUT_OF_MEMORY. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_load(const char* path, tarsia_weights** out);
/* The same from the bytes of such a file, which are copied. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_load_memory(const void* bytes, size_t size,
                                                    tarsia_weights** out);
/* Writes a .tsw file, which appears when it is complete. Errors: NO_DEVICE (it cannot be written).
 * Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_save(const tarsia_weights* weights, const char* path);

typedef struct tarsia_weights_info {
  size_t size;
  tarsia_dtype type, compute, scale_type;
  tarsia_dtype zero_type; /* TARSIA_DTYPE_NONE without zero points */
  tarsia_zero_point zero;
  int64_t k, n, group;
  float tensor_scale;
  bool finite;              /* no code is a NaN or an infinity */
  bool gathers;             /* x is to be gathered */
  bool codebook;            /* codes are places in a codebook */
  int64_t whole_k, whole_n; /* the matrix of which this is a part, */
  int64_t first_k, first_n; /* and where it begins */
  const char* layout_id;    /* "u4-f16-v2" */
  const char* code_order;   /* the layouts of the parts as text, for constants of programs */
  const char* scale_order;
  const char* zero_order; /* "" without zero points */
  uint64_t file_bytes;
} tarsia_weights_info;

/* What the header says. The texts are valid as long as the handle. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_get(const tarsia_weights* weights,
                                            tarsia_weights_info* info);
/* The bytes of a part, valid as long as the handle, at a multiple of 16; none of a part that the
 * weights lack. Either output may be NULL. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_part(const tarsia_weights* weights,
                                             tarsia_weights_part_kind part, const void** data,
                                             uint64_t* bytes);

/* The inverse of tarsia_weights_pack: codes [k, n], scales and zero points [k / group, n]. NULL
 * leaves a part out; the counts are checked. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_unpack(const tarsia_weights* weights, uint8_t* codes,
                                               size_t code_count, float* scales, size_t scale_count,
                                               float* zeros, size_t zero_count);
/* The weights [k, n], each rounded once to f32; with a gather list in the order of x's columns.
 * Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_dequantise(const tarsia_weights* weights, float* out,
                                                   size_t count);

/* Part `part` (from 0) of `parts` equal ones along k or n of a matrix, from pieces that hold all of
 * it. Copies ranges of bytes, so parts must begin and end with whole tiles. Errors:
 * INVALID_ARGUMENT, OUT_OF_MEMORY. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_shard(const tarsia_weights* const* pieces, size_t count,
                                              bool along_k, int64_t part, int64_t parts,
                                              tarsia_weights** out);

/* The columns of `first`, then those of `second`: a gated pair of matrices that come apart, such as
 * those of a gate and an up projection. They have the same shape, types, group, codebook, gather
 * list and scale of the tensor. Packs again, on all cores. Errors: INVALID_ARGUMENT (they differ),
 * OUT_OF_MEMORY. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_pair(const tarsia_weights* first,
                                             const tarsia_weights* second, tarsia_weights** out);

/* The contents of the .tsw file, valid as long as the handle, at a multiple of 16: what
 * tarsia_matmul_execute reads, in memory of its device. Either output may be NULL. Thread-safe. */
TARSIA_API tarsia_status tarsia_weights_image(const tarsia_weights* weights, const void** data,
                                              uint64_t* bytes);

TARSIA_API void tarsia_weights_destroy(tarsia_weights* weights);

/* ---- The quantised matmul ------------------------------------------------------------------ */

typedef enum tarsia_activation {
  TARSIA_ACTIVATION_NONE = 0,
  TARSIA_ACTIVATION_GELU = 1,      /* v (1 + erf(v / sqrt 2)) / 2 */
  TARSIA_ACTIVATION_GELU_TANH = 2, /* v (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3))) / 2 */
  TARSIA_ACTIVATION_SILU = 3,      /* v / (1 + exp(-v)) */
  TARSIA_ACTIVATION_RELU = 4,
  TARSIA_ACTIVATION_FORCE_32BIT = 0x7fffffff
} tarsia_activation;

/* A layer: y[m, n] = residual + act(x[m, k] * w[k, n] + bias), for packed weights. With `gated`, w
 * and bias have the columns of two halves, and y[m, n / 2] = residual + act(first) * second. x and
 * y are dense and row-major; x has the type `compute`. Sums are in f32. Where x has 8 bits, row i
 * is row_scales[i] * x[i], and there is no codebook. Products of i8 are summed in i32 within a
 * group of weights, exactly, and the sums of groups in f32; a group has at most 2^(24 - bits) rows,
 * where `bits` are those of a code, or 8 with integer zero points. f8e4m3fn needs sm_89 or later.
 */
typedef struct tarsia_matmul {
  size_t size;
  int64_t m_min, m_max; /* rows of x that the plan serves; 0 rows are allowed */
  int64_t k, n;         /* of the weights */
  tarsia_dtype type;    /* of the codes */
  tarsia_dtype compute; /* f16, bf16, or i8 or f8e4m3fn, with tarsia_matmul_args.row_scales */
  int64_t group;
  tarsia_dtype scale_type;
  tarsia_zero_point zero;
  tarsia_dtype zero_type; /* TARSIA_DTYPE_NONE without zero points */
  float tensor_scale;     /* 0 means 1 */
  bool finite;            /* no code is a NaN or an infinity, which makes decoding faster */
  bool gathers;
  bool codebook;
  bool gated;
  bool residual;          /* a tensor like y is added */
  tarsia_dtype bias_type; /* f16, bf16 or f32; TARSIA_DTYPE_NONE: no bias */
  tarsia_dtype y_type; /* f16, bf16 or f32; TARSIA_DTYPE_NONE: that of x, or f16 for x of 8 bits */
  tarsia_activation activation;
  uint32_t experts; /* 0 or 1; others are UNSUPPORTED */
} tarsia_matmul;

/* Describes a layer of these weights without an epilogue, for 1 row. `out->size` must be set.
 * Thread- safe. */
TARSIA_API tarsia_status tarsia_matmul_describe(const tarsia_weights* weights, tarsia_matmul* out);

/* Packs the weights of a layer on a device: codes that are there become what tarsia_matmul_execute
 * reads, and back. Immutable: every function on it is thread-safe. */
typedef struct tarsia_packer tarsia_packer;

/* Compiles the kernels. Of the problem only the weights count. `device` NULL: the default device.
 * Errors: those of tarsia_matmul_plan_create. Thread-safe. */
TARSIA_API tarsia_status tarsia_packer_create(const tarsia_matmul* problem, const char* device,
                                              tarsia_packer** out);
TARSIA_API void tarsia_packer_destroy(tarsia_packer* packer);

/* Memory of the packer's device, at multiples of 16 bytes. The numbers of bytes may be larger than
 * needed. NULL for a part that the weights do not have. */
typedef struct tarsia_packer_args {
  size_t size;
  void* codes; /* [k, n]: a pattern of bits in each byte */
  uint64_t codes_bytes;
  void* scales; /* [k / group, n], of scale_type */
  uint64_t scales_bytes;
  void* zeros; /* as scales, of zero_type */
  uint64_t zeros_bytes;
  void* gather; /* int32_t[k] */
  uint64_t gather_bytes;
  void* codebook; /* float[2^bits] */
  uint64_t codebook_bytes;
  void* image; /* of weight_bytes in tarsia_matmul_plan_info */
  uint64_t image_bytes;
} tarsia_packer_args;

/* Packs the parts into the image. Its bytes are those of tarsia_weights_pack, without the header,
 * which belongs to files. Of each code the lower bits count; whether codes, scales, zero points and
 * the gather list make sense is not checked. Enqueued, and allocates nothing, as
 * tarsia_matmul_execute. Errors: those of tarsia_matmul_execute. Thread-safe, if no call writes
 * memory that another one uses. */
TARSIA_API tarsia_status tarsia_packer_pack(const tarsia_packer* packer,
                                            const tarsia_packer_args* args, void* stream);
/* The inverse: the image is read, and the parts that are not NULL are written. */
TARSIA_API tarsia_status tarsia_packer_unpack(const tarsia_packer* packer,
                                              const tarsia_packer_args* args, void* stream);

typedef enum tarsia_matmul_flags {
  TARSIA_MATMUL_DETERMINISTIC = 1,   /* the same bits in every run */
  TARSIA_MATMUL_BATCH_INVARIANT = 2, /* a row has the same bits whatever m is, in all plans for one
                                        target; deterministic, too */
  TARSIA_MATMUL_FLAGS_FORCE_32BIT = 0x7fffffff
} tarsia_matmul_flags;

typedef struct tarsia_matmul_options {
  size_t size;
  const char* device; /* NULL: the default device */
  uint32_t flags;     /* of tarsia_matmul_flags */
  const char*
      candidate; /* a text of tarsia_matmul_candidate; NULL: the best by the model of costs, or one
                    that is about as fast where the code of the best takes too many registers */
  uint64_t workspace_limit; /* in bytes; 0: no limit. Kernels that need more are not candidates */
  tarsia_cancel_fn cancel;  /* can end the compilation; may be NULL */
  void* cancel_user;
  uint64_t compile_limit_ms; /* ends it when it takes longer; 0: no limit */
} tarsia_matmul_options;

/* Candidate `index` for m rows, the best first by the model of costs: a text, as a blob that the
 * caller destroys, and the predicted time in microseconds, 0 if the device has no model. NOT_FOUND
 * behind the last one. `options` may be NULL. A plan whose options name a candidate needs one that
 * all its ranges of rows have. Thread-safe. */
TARSIA_API tarsia_status tarsia_matmul_candidate(const tarsia_matmul* problem,
                                                 const tarsia_matmul_options* options, int64_t m,
                                                 size_t index, tarsia_blob** text,
                                                 double* microseconds);

/* A layer that is ready to run on a device, for all its numbers of rows. Immutable: every function
 * on it is thread-safe. It does not refer to weights: one plan serves all layers of one
 * description. */
typedef struct tarsia_matmul_plan tarsia_matmul_plan;

/* Compiles the kernels. `options` may be NULL. Errors: INVALID_ARGUMENT (a description that makes
 * no sense), UNSUPPORTED (with the nearest that is supported), NO_DEVICE, OUT_OF_MEMORY, CANCELLED,
 * REJECTED (no kernel has room in the limit of the workspace). Thread-safe. */
TARSIA_API tarsia_status tarsia_matmul_plan_create(const tarsia_matmul* problem,
                                                   const tarsia_matmul_options* options,
                                                   tarsia_matmul_plan** out);
TARSIA_API void tarsia_matmul_plan_destroy(tarsia_matmul_plan* plan);

typedef struct tarsia_matmul_plan_info {
  size_t size;
  const char* device;
  const char* layout_id;    /* of the weights: "u4-f16-v2" */
  uint64_t weight_bytes;    /* of tarsia_weights_image */
  uint64_t workspace_bytes; /* that tarsia_matmul_execute needs */
  size_t range_count;       /* of numbers of rows that different kernels serve */
} tarsia_matmul_plan_info;

TARSIA_API tarsia_status tarsia_matmul_plan_get(const tarsia_matmul_plan* plan,
                                                tarsia_matmul_plan_info* out);

typedef struct tarsia_matmul_range {
  size_t size;
  int64_t m_min, m_max;
  const char* candidate; /* as in tarsia_matmul_candidate */
  size_t kernel_count;   /* launches of an execution */
  double microseconds;   /* predicted for m_max; 0: no model */
  double floor_bytes;    /* that cross memory at least, for m_max */
  double floor_operations;
} tarsia_matmul_range;

TARSIA_API tarsia_status tarsia_matmul_plan_range(const tarsia_matmul_plan* plan, size_t index,
                                                  tarsia_matmul_range* out);
/* The code of a kernel of a range; the caller destroys it. Errors: UNSUPPORTED on "cpu". */
TARSIA_API tarsia_status tarsia_matmul_plan_code(const tarsia_matmul_plan* plan, size_t range,
                                                 size_t kernel, tarsia_code** out);

/* Memory of the plan's device, as for tarsia_arg, at multiples of 16 bytes. The numbers of bytes
 * may be larger than needed. */
typedef struct tarsia_matmul_args {
  size_t size;
  int64_t m;
  const void* x; /* [m, k] */
  uint64_t x_bytes;
  const void* weights; /* the bytes of tarsia_weights_image */
  uint64_t weights_bytes;
  const void* bias; /* [n]; NULL without one */
  uint64_t bias_bytes;
  const void* residual; /* as y; NULL without one */
  uint64_t residual_bytes;
  void* y; /* [m, n], or [m, n / 2] of a gated pair */
  uint64_t y_bytes;
  void* workspace; /* prepared by tarsia_matmul_workspace_init; serves one stream at a time */
  uint64_t workspace_bytes;
  const float* row_scales; /* [m], of a layer with x of 8 bits; NULL where x has 16 bits */
  uint64_t row_scales_bytes;
} tarsia_matmul_args;

/* Computes a layer: on a GPU enqueues it on `stream` and returns, allocates nothing, waits for
 * nothing, and may be captured into a CUDA graph; on other devices `stream` is NULL, and the call
 * returns when y is computed. `cpu` compares the weights with the plan if they have a header.
 * Errors: INVALID_ARGUMENT, LAUNCH_FAILED, NO_DEVICE, OUT_OF_MEMORY, FINDINGS on "ptx".
 * Thread-safe, if no call writes memory that another one uses. */
TARSIA_API tarsia_status tarsia_matmul_execute(const tarsia_matmul_plan* plan,
                                               const tarsia_matmul_args* args, void* stream);
/* Prepares a workspace of at least the size that the plan needs, once: for this plan, and for every
 * other one on the device that needs at most `bytes`. Every execution leaves it prepared. Enqueued
 * on `stream`. Thread-safe. */
TARSIA_API tarsia_status tarsia_matmul_workspace_init(const tarsia_matmul_plan* plan,
                                                      void* workspace, uint64_t bytes,
                                                      void* stream);

/* All that executing the plan needs, for all its ranges of rows, as bytes: as tarsia_plan_save. The
 * weights are not part of it. Errors: OUT_OF_MEMORY, REJECTED. Thread-safe. */
TARSIA_API tarsia_status tarsia_matmul_plan_save(const tarsia_matmul_plan* plan, tarsia_blob** out);
/* The same into a file, which appears when it is complete. Errors: also NO_DEVICE, for a file that
 * cannot be written. Thread-safe. */
TARSIA_API tarsia_status tarsia_matmul_plan_save_file(const tarsia_matmul_plan* plan,
                                                      const char* path);
/* Makes a plan from the bytes of tarsia_matmul_plan_save, without a compiler: as tarsia_plan_load.
 * Errors: those of tarsia_plan_load. Thread-safe. */
TARSIA_API tarsia_status tarsia_matmul_plan_load(tarsia_device* device, const void* data,
                                                 size_t data_size, tarsia_matmul_plan** out);
/* The same from a file. Errors: also INVALID_ARGUMENT, for a file that cannot be read. Thread-safe.
 */
TARSIA_API tarsia_status tarsia_matmul_plan_load_file(tarsia_device* device, const char* path,
                                                      tarsia_matmul_plan** out);

#ifdef __cplusplus
}
#endif

#endif /* TARSIA_TARSIA_H_ */
