/*
 * The C API of Tarsia, a virtual machine for low-precision GPU compute. C11; the only public header
 * of libtarsia. docs/capi.md is the guide; tests/capi/ has a program that calls every function.
 *
 * The way through it:
 *   text or bytecode --tarsia_module_create--> module --tarsia_plan_create--> plan
 *   plan --tarsia_query_create--> query: launch geometry, the bytes behind every pointer
 *   device --tarsia_memory_alloc, tarsia_memory_write--> what the pointers point to
 *   plan --tarsia_execute--> results, and a report if one is asked for
 *   module --tarsia_code_create--> PTX and machine code, with no device at all
 *
 * Conventions that hold for every function:
 * - A function that can fail returns a tarsia_status. On anything but TARSIA_STATUS_OK its outputs
 *   are NULL or untouched, and tarsia_last_error() says in words what was wrong, naming the
 *   argument. Functions that return void or a plain value cannot fail.
 * - Handles are opaque. What `*_create` made, `*_destroy` frees; destroying NULL does nothing.
 *   Using a handle after its destruction is the one mistake that is not caught.
 * - Every struct begins with its size: set it to sizeof, and all other members to zero unless you
 *   mean something by them (designated initialisers do that). A library that knows more members
 *   takes the missing ones as zero; one that knows fewer refuses what it does not know.
 *   The structs of one array must all have the same size.
 * - Enumerators have fixed values; new ones are added, none changes.
 * - Texts are UTF-8. Sizes are in bytes. Pointers returned into a handle live as long as the
 * handle.
 * - No exception leaves the library, and no wrong call corrupts memory: null handles, wrong sizes,
 *   wrong kinds all give TARSIA_STATUS_INVALID_ARGUMENT.
 * - Thread safety is said at every function. "Thread-safe" means: may be called from any number of
 *   threads at once, on the same handles.
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
  TARSIA_STATUS_INVALID_ARGUMENT = 1, /* the call is wrong: an argument is null, has another type,
                                         or a size that does not fit */
  TARSIA_STATUS_REJECTED = 2,         /* a text, a bytecode or a value of a constant is wrong; the
                                         diagnostics say where */
  TARSIA_STATUS_UNSUPPORTED = 3,      /* not in this build, or unknown to this version */
  TARSIA_STATUS_OUT_OF_MEMORY = 4,
  TARSIA_STATUS_NOT_FOUND = 5,     /* no kernel, type or library module of that name */
  TARSIA_STATUS_NO_DEVICE = 6,     /* the device, or a library it needs, is not there */
  TARSIA_STATUS_LAUNCH_FAILED = 7, /* the program stopped: an assertion, a deadlock, a limit */
  TARSIA_STATUS_FINDINGS = 8,      /* the program ran to its end, but the checks asked for by
                                      TARSIA_EXECUTE_CHECK found faults; its results have no
                                      meaning */
  TARSIA_STATUS_INTERNAL = 9,      /* a fault of the library */
  TARSIA_STATUS_DEVICE_LOST = 10,  /* a kernel failed on the GPU, or the GPU is gone: nothing more
                                      runs in this CUDA context */
  TARSIA_STATUS_CANCELLED = 11,    /* a `cancel` callback said so, or compiling took longer than
                                      `compile_limit_ms` */
  TARSIA_STATUS_FORCE_32BIT = 0x7fffffff
} tarsia_status;

/* The name of a status, "TARSIA_STATUS_OK"; of an unknown one "unknown status". Thread-safe. */
TARSIA_API const char* tarsia_status_name(tarsia_status status);

/* What went wrong in the last call of this thread that did not return TARSIA_STATUS_OK: text in one
 * or more lines, "" if none failed yet. Lives until this thread's next call into the library that
 * fails. Calls that succeed leave it alone. Thread-safe: every thread has its own. */
TARSIA_API const char* tarsia_last_error(void);

/* The version of the library: "0.1.0", and major << 16 | minor << 8 | patch. Compare with the
 * macros above, which are those of the header. Thread-safe. */
TARSIA_API const char* tarsia_version(void);
TARSIA_API uint32_t tarsia_version_number(void);

/* Asked now and then, up to some hundred times a second, whether the call that it was given to is
 * to stop: true ends it with TARSIA_STATUS_CANCELLED. May be called from any thread, one call at a
 * time; must not call into the library and must not throw. */
typedef bool (*tarsia_cancel_fn)(void* user);

/* ---- Log ---------------------------------------------------------------------------------- */

typedef enum tarsia_log_level {
  TARSIA_LOG_TRACE = 0,
  TARSIA_LOG_DEBUG = 1,   /* every plan, query and launch */
  TARSIA_LOG_INFO = 2,    /* which device is the default one, where it is no GPU, and why */
  TARSIA_LOG_WARNING = 3, /* every fall-back: code that the driver has to compile, for want of an
                             assembler or because it refuses the machine code; a GPU that cannot be
                             used */
  TARSIA_LOG_ERROR = 4,   /* every call that fails */
  TARSIA_LOG_OFF = 5,
  TARSIA_LOG_FORCE_32BIT = 0x7fffffff
} tarsia_log_level;

/* Receives one message without a newline. May be called from any thread, one call at a time; must
 * not call into the library and must not throw. */
typedef void (*tarsia_log_fn)(void* user, tarsia_log_level level, const char* message);

/* Sends messages of `level` and above to `callback`; NULL or TARSIA_LOG_OFF ends it. Nothing is
 * logged before the first call. When it returns, the callback of before is no longer running.
 * Errors: an unknown level. Thread-safe. */
TARSIA_API tarsia_status tarsia_set_log_callback(tarsia_log_fn callback, void* user,
                                                 tarsia_log_level level);

/* ---- Blobs -------------------------------------------------------------------------------- */

/* Bytes made by the library. A zero byte follows them, so that a text is a C string. */
typedef struct tarsia_blob tarsia_blob;

/* The bytes and how many (without the final zero); NULL and 0 of NULL. Thread-safe. */
TARSIA_API const char* tarsia_blob_data(const tarsia_blob* blob);
TARSIA_API size_t tarsia_blob_size(const tarsia_blob* blob);
TARSIA_API void tarsia_blob_destroy(tarsia_blob* blob);

/* ---- Diagnostics -------------------------------------------------------------------------- */

/* A list of errors, each with a place. Immutable. */
typedef struct tarsia_diagnostics tarsia_diagnostics;

typedef enum tarsia_severity {
  TARSIA_SEVERITY_ERROR = 1,
  TARSIA_SEVERITY_FORCE_32BIT = 0x7fffffff
} tarsia_severity;

typedef struct tarsia_diagnostic {
  size_t size;
  tarsia_severity severity;
  uint32_t line;       /* from 1; 0: not a place in a text */
  uint32_t column;     /* from 1, in bytes; 0 without a line */
  uint32_t length;     /* bytes that are meant, from `column` on; 0: no place at all */
  uint64_t offset;     /* in bytecode: where, in bytes from the start */
  const char* file;    /* the name the module was given, or "" */
  const char* id;      /* stable and kebab-case: "unknown-mnemonic" */
  const char* message; /* one line */
  const char* help;    /* what would help, or "" */
  size_t note_count;   /* further places, see tarsia_diagnostics_note */
} tarsia_diagnostic;

typedef struct tarsia_note {
  size_t size;
  uint32_t line;
  uint32_t column;
  uint32_t length;
  const char* message;
} tarsia_note;

/* How many errors are listed. At most 100 are; tarsia_diagnostics_total counts the others too.
 * 0 of NULL. Thread-safe. */
TARSIA_API size_t tarsia_diagnostics_count(const tarsia_diagnostics* diagnostics);
TARSIA_API size_t tarsia_diagnostics_total(const tarsia_diagnostics* diagnostics);
/* Error `index`, in the order of their places. Thread-safe. */
TARSIA_API tarsia_status tarsia_diagnostics_get(const tarsia_diagnostics* diagnostics, size_t index,
                                                tarsia_diagnostic* out);
/* Note `note` of error `index`. Thread-safe. */
TARSIA_API tarsia_status tarsia_diagnostics_note(const tarsia_diagnostics* diagnostics,
                                                 size_t index, size_t note, tarsia_note* out);
/* All of them as text: `file:line:column: error: message [id]`, the line, a caret, notes and help.
 * `color` adds the colours of a terminal. Thread-safe. */
TARSIA_API tarsia_status tarsia_diagnostics_render(const tarsia_diagnostics* diagnostics,
                                                   bool color, tarsia_blob** out);
TARSIA_API void tarsia_diagnostics_destroy(tarsia_diagnostics* diagnostics);

/* ---- Element types ------------------------------------------------------------------------ */

/* Element types by their frozen numbers, which are those of bytecode. */
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
  uint32_t mantissa_bits; /* without the hidden one */
  int32_t bias;
  bool has_infinity;
  bool has_nan;
  const char* name; /* "f8e4m3fn"; lives as long as the library */
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

/* How many types there are, and type `index` of the table. Thread-safe. */
TARSIA_API size_t tarsia_dtype_count(void);
TARSIA_API tarsia_status tarsia_dtype_at(size_t index, tarsia_dtype* out);
/* The type of a name; NOT_FOUND (the message suggests the nearest). Thread-safe. */
TARSIA_API tarsia_status tarsia_dtype_find(const char* name, tarsia_dtype* out);
TARSIA_API tarsia_status tarsia_dtype_get(tarsia_dtype dtype, tarsia_dtype_info* out);
/* The code of a value, rounded once; `random` is used by stochastic rounding alone. Thread-safe. */
TARSIA_API tarsia_status tarsia_dtype_encode(tarsia_dtype dtype, double value,
                                             tarsia_rounding rounding, tarsia_overflow overflow,
                                             uint32_t random, uint64_t* code);
/* The value of a code (its low bits), exact except for 64-bit integers beyond 2^53, which are
 * rounded; of a complex number the real part. Thread-safe. */
TARSIA_API tarsia_status tarsia_dtype_decode(tarsia_dtype dtype, uint64_t code, double* value);

/* ---- Modules ------------------------------------------------------------------------------ */

/* Kernels that were read, and found to obey every rule that can be decided before their constants
 * have values. Immutable: every function on a module is thread-safe. */
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
  const char* name; /* how messages call the input, such as a file name; NULL: "<input>" */
} tarsia_module_options;

/* Reads a module. `data` need not end in a zero byte and is not kept. `options` may be NULL.
 * `diagnostics` may be NULL; else it receives the errors when the status is REJECTED (to be
 * destroyed), and NULL otherwise. Errors: REJECTED, OUT_OF_MEMORY, INVALID_ARGUMENT. Thread-safe.
 */
TARSIA_API tarsia_status tarsia_module_create(const void* data, size_t data_size,
                                              const tarsia_module_options* options,
                                              tarsia_module** out,
                                              tarsia_diagnostics** diagnostics);
/* A module of the standard library, by name. Errors: NOT_FOUND. Thread-safe. */
TARSIA_API tarsia_status tarsia_module_create_from_library(const char* name, tarsia_module** out);
TARSIA_API void tarsia_module_destroy(tarsia_module* module);

/* The modules of the standard library, which are part of libtarsia: how many, the name of one (NULL
 * when there are no more), and its text. Thread-safe. */
TARSIA_API size_t tarsia_library_count(void);
TARSIA_API const char* tarsia_library_name(size_t index);
TARSIA_API tarsia_status tarsia_library_text(const char* name, tarsia_blob** out);

/* Whether the module came from TARSIA_FORMAT_TEXT or TARSIA_FORMAT_BYTECODE; AUTO of NULL. */
TARSIA_API tarsia_format tarsia_module_format(const tarsia_module* module);

/* The module as canonical text, without comments. */
TARSIA_API tarsia_status tarsia_module_print(const tarsia_module* module, tarsia_blob** out);

/* Text in canonical form, with its comments and its grouping. `diagnostics` as in
 * tarsia_module_create. Needs correct syntax, not a valid program. Thread-safe. */
TARSIA_API tarsia_status tarsia_format_text(const char* text, size_t text_size, const char* name,
                                            tarsia_blob** out, tarsia_diagnostics** diagnostics);

typedef struct tarsia_encode_options {
  size_t size;
  bool strip;       /* leave out the places in the text */
  bool has_version; /* write this version of the format, not the lowest that will do */
  uint16_t version_major;
  uint16_t version_minor;
} tarsia_encode_options;

/* The module as bytecode; equal modules give equal bytes. `options` may be NULL. Errors:
 * UNSUPPORTED when the version asked for is unknown or cannot express the module. */
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
  const char* dtype_text; /* of the scalar, or of what is pointed to: a name or an expression */
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
  const char* value_text; /* of a module: the default, or NULL; of a plan: the value */
  size_t candidate_count; /* values for the tuner; 0 of a plan */
} tarsia_constant_info;

TARSIA_API size_t tarsia_module_kernel_count(const tarsia_module* module); /* 0 of NULL */
TARSIA_API tarsia_status tarsia_module_kernel(const tarsia_module* module, size_t kernel,
                                              tarsia_kernel_info* out);
/* The number of the kernel of that name; NOT_FOUND (the message suggests the nearest). */
TARSIA_API tarsia_status tarsia_module_find_kernel(const tarsia_module* module, const char* name,
                                                   size_t* kernel);
TARSIA_API tarsia_status tarsia_module_param(const tarsia_module* module, size_t kernel,
                                             size_t param, tarsia_param_info* out);
TARSIA_API tarsia_status tarsia_module_constant(const tarsia_module* module, size_t kernel,
                                                size_t constant, tarsia_constant_info* out);
/* The text of a candidate of a constant. */
TARSIA_API tarsia_status tarsia_module_candidate(const tarsia_module* module, size_t kernel,
                                                 size_t constant, size_t candidate,
                                                 const char** text);

/* ---- Devices ------------------------------------------------------------------------------ */

typedef struct tarsia_device_info {
  size_t size;
  const char* name;        /* what tarsia_plan_options.device takes: "cpu", "cuda:0", "ptx" */
  const char* description; /* one line; of a device that is not available, why */
  bool available;
  bool is_default;
  uint32_t threads;        /* of a CPU: how many run at once */
  const char* vector_unit; /* of a CPU: "AVX2"; "" otherwise */
} tarsia_device_info;

/* The devices that are here, and those that this version knows and does not find: "cpu" (the
 * interpreter), "cuda:N" (a GPU), "ptx" (the PTX emulator). The first call looks for GPUs.
 * Thread-safe. */
TARSIA_API size_t tarsia_device_count(void);
TARSIA_API tarsia_status tarsia_device_get(size_t index, tarsia_device_info* out);

/* A device, open for the functions below. */
typedef struct tarsia_device tarsia_device;

/* Opens a device by name: "cpu"; "ptx" or "ptx:TARGET" (the emulator, with code for that target);
 * "cuda" or "cuda:N"; NULL for the default one, which is the first GPU, else "cpu". All handles of
 * one name, and all plans for it, share one memory. Errors: INVALID_ARGUMENT (no such name),
 * NO_DEVICE (says what is missing). Thread-safe. */
TARSIA_API tarsia_status tarsia_device_open(const char* name, tarsia_device** out);
/* Memory and streams of a device must be given back before its last handle is closed and the last
 * plan for it destroyed. */
TARSIA_API void tarsia_device_close(tarsia_device* device);
/* Its full name, "cuda:0"; "" of NULL. Thread-safe. */
TARSIA_API const char* tarsia_device_name(const tarsia_device* device);

/* Device memory, at a multiple of 256 bytes and with undefined contents; 0 bytes give NULL. On
 * "cpu" it is memory of this process. Errors: OUT_OF_MEMORY (with the bytes). Thread-safe. */
TARSIA_API tarsia_status tarsia_memory_alloc(tarsia_device* device, uint64_t bytes, void** out);
/* Frees what tarsia_memory_alloc gave, which nothing may be using; NULL is fine. On a GPU the call
 * waits for the device. Errors: INVALID_ARGUMENT where the device can tell. Thread-safe. */
TARSIA_API tarsia_status tarsia_memory_free(tarsia_device* device, void* memory);
/* Copies from the host to the device, from the device to the host, and fills device memory with a
 * byte, in the order of the stream. The copies are over when they return; the fill may only be
 * enqueued. `stream` as in tarsia_execute. Thread-safe, as far as the bytes are not in use. */
TARSIA_API tarsia_status tarsia_memory_write(tarsia_device* device, void* to, const void* from,
                                             uint64_t bytes, void* stream);
TARSIA_API tarsia_status tarsia_memory_read(tarsia_device* device, void* to, const void* from,
                                            uint64_t bytes, void* stream);
TARSIA_API tarsia_status tarsia_memory_fill(tarsia_device* device, void* to, uint8_t value,
                                            uint64_t bytes, void* stream);

/* A stream of the device: on a GPU a CUstream, and any other CUstream of it will do as well. The
 * devices "cpu" and "ptx" have one stream, NULL, and give that. Thread-safe. */
TARSIA_API tarsia_status tarsia_stream_create(tarsia_device* device, void** out);
TARSIA_API tarsia_status tarsia_stream_destroy(tarsia_device* device, void* stream);
/* Waits until everything enqueued on the stream is done. Errors: LAUNCH_FAILED and NO_DEVICE, if
 * something on it went wrong. Thread-safe. */
TARSIA_API tarsia_status tarsia_stream_synchronize(tarsia_device* device, void* stream);

/* ---- Code --------------------------------------------------------------------------------- */

/* What the compiler made of a kernel for one target. Immutable: every function on it is
 * thread-safe. */
typedef struct tarsia_code tarsia_code;

/* The targets that code can be made for: how many, the name of one ("sm_90a"; NULL when there are
 * no more). Thread-safe. */
TARSIA_API size_t tarsia_target_count(void);
TARSIA_API const char* tarsia_target_name(size_t index);

struct tarsia_binding;

typedef struct tarsia_code_options {
  size_t size;
  const char* target;                    /* "sm_80", "sm_89", "sm_90a"; must be given */
  const char* kernel;                    /* NULL: the only kernel of the module */
  const struct tarsia_binding* bindings; /* constants that are not named take their default */
  size_t binding_count;
  bool no_line_info;       /* leave out what ties the code to the lines of the text */
  tarsia_cancel_fn cancel; /* ends the compilation; NULL: nothing does */
  void* cancel_user;
  uint64_t compile_limit_ms; /* ends it when it takes longer; 0: no limit */
} tarsia_code_options;

/* Compiles a kernel; needs no device. What this process compiled before from the same program, with
 * the same values, for the same target, is not compiled again: always while a plan or code of it
 * lives, and for the newest few beyond that. `diagnostics` as in tarsia_module_create. Errors:
 * REJECTED (also of what the target cannot hold), NOT_FOUND, INVALID_ARGUMENT (an unknown target:
 * the known ones are listed), OUT_OF_MEMORY, CANCELLED. Thread-safe.
 *
 * With CANCELLED the call returns at once. What the compiler is at goes on in a thread until it can
 * be left, and is freed there; a process that returns from main or calls exit() waits for that. */
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
  TARSIA_CODE_MIX = 6,     /* a table: instructions of each class, in the main loop and in all;
                              needs ptxas and nvdisasm */
  TARSIA_CODE_FORCE_32BIT = 0x7fffffff
} tarsia_code_form;

/* The code in one form. Errors: NO_DEVICE when a tool is missing (says which, and where it was
 * looked for). */
TARSIA_API tarsia_status tarsia_code_emit(const tarsia_code* code, tarsia_code_form form,
                                          tarsia_blob** out);

/* What machine code needs, as ptxas says. */
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

/* Errors: as of tarsia_code_emit for a cubin. */
TARSIA_API tarsia_status tarsia_code_assemble(const tarsia_code* code, tarsia_code_resources* out);

/* ---- Plans -------------------------------------------------------------------------------- */

/* A kernel with values for its constants, made ready for a device. Immutable: every function on a
 * plan is thread-safe, and a plan may be executed by many threads at once. It needs its module no
 * more. */
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
  uint64_t flags;           /* none yet: 0 */
  uint64_t workspace_limit; /* in bytes; 0: no limit. A kernel that cannot keep it is REJECTED, and
                               so are scalars that would make a workspace larger. Lines of `print`
                               have to do with the room that is left */
  tarsia_cancel_fn cancel;  /* ends the compilation; NULL: nothing does */
  void* cancel_user;
  uint64_t compile_limit_ms; /* ends it when it takes longer; 0: no limit */
} tarsia_plan_options;

/* Makes a plan. All work that can be done before the launch is done here; code is made as by
 * tarsia_code_create. `options` may be NULL. `diagnostics` as in tarsia_module_create. Errors:
 * REJECTED (a constant is unknown, missing or wrong, a `require` does not hold, the workspace
 * passes its limit), NOT_FOUND (no such kernel), NO_DEVICE, UNSUPPORTED, INVALID_ARGUMENT,
 * OUT_OF_MEMORY, CANCELLED. Thread-safe. */
TARSIA_API tarsia_status tarsia_plan_create(const tarsia_module* module,
                                            const tarsia_plan_options* options, tarsia_plan** out,
                                            tarsia_diagnostics** diagnostics);
TARSIA_API void tarsia_plan_destroy(tarsia_plan* plan);

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
/* The code that the plan runs, to be destroyed. Errors: UNSUPPORTED on "cpu", which runs the
 * program itself. */
TARSIA_API tarsia_status tarsia_plan_code(const tarsia_plan* plan, tarsia_code** out);

/* ---- Arguments ---------------------------------------------------------------------------- */

typedef enum tarsia_arg_kind {
  TARSIA_ARG_POINTER = 1,       /* memory that the kernel may read and write */
  TARSIA_ARG_CONST_POINTER = 2, /* memory that it may only read: a write fails the launch */
  TARSIA_ARG_SCALAR = 3,
  TARSIA_ARG_FORCE_32BIT = 0x7fffffff
} tarsia_arg_kind;

/* The argument of one parameter. Pointers are to memory of the plan's device (tarsia_memory_alloc,
 * or what the driver gave the caller); on "cpu", to any memory of this process. A null pointer is
 * allowed with 0 bytes. */
typedef struct tarsia_arg {
  size_t size;
  tarsia_arg_kind kind;
  tarsia_dtype dtype; /* of a scalar: must be that of the parameter */
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

/* Makers of arguments. */
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

/* What a plan needs and does for given scalars. Immutable: every function on it is thread-safe. */
typedef struct tarsia_query tarsia_query;

#define TARSIA_MAX_RANK 8

typedef struct tarsia_geometry {
  size_t size;
  int64_t grid[3]; /* blocks along x, y, z; a 0 launches nothing */
  uint32_t warps;  /* of a block */
  uint32_t threads;
  uint64_t workspace_bytes; /* memory that tarsia_execute wants beside the arguments */
} tarsia_geometry;

/* A view that the kernel makes of a pointer parameter, if its shape follows from scalars and
 * constants. (Others are checked when the program makes them.) */
typedef struct tarsia_view {
  size_t size;
  size_t param;
  tarsia_dtype dtype;
  size_t rank;
  int64_t shape[TARSIA_MAX_RANK];
  uint64_t bytes;     /* what the pointer must have behind it */
  bool row_major;     /* dense, the last dimension fastest */
  bool unconditional; /* not within a loop, nor in a branch on what is no constant */
  bool writes;        /* the program may write through it */
  const char* text;   /* "global<f16>[16, 64]" */
  uint32_t line;      /* in the text; 0 if unknown */
  uint32_t column;
} tarsia_view;

/* Asks. `args` are those of tarsia_execute; of pointers nothing is looked at but the kind, so they
 * may be null. Errors: INVALID_ARGUMENT (wrong number, kind or type of arguments), REJECTED (the
 * scalars make a shape or a grid that is negative or too large). Thread-safe. */
TARSIA_API tarsia_status tarsia_query_create(const tarsia_plan* plan, const tarsia_arg* args,
                                             size_t arg_count, tarsia_query** out);
TARSIA_API void tarsia_query_destroy(tarsia_query* query);
TARSIA_API tarsia_status tarsia_query_geometry(const tarsia_query* query, tarsia_geometry* out);
/* The views of pointer parameters, in the order of the text; a parameter may have none, one or
 * several. 0 of NULL. */
TARSIA_API size_t tarsia_query_view_count(const tarsia_query* query);
TARSIA_API tarsia_status tarsia_query_view(const tarsia_query* query, size_t index,
                                           tarsia_view* out);
/* The bytes that parameter `param` must have behind it: the most that one of its unconditional
 * views wants. Errors: it is no pointer. */
TARSIA_API tarsia_status tarsia_query_pointer_bytes(const tarsia_query* query, size_t param,
                                                    uint64_t* bytes);

/* ---- Execution ---------------------------------------------------------------------------- */

/* What happened in a launch. Immutable. */
typedef struct tarsia_report tarsia_report;

/* Receives a line without a newline: `size` bytes and a zero byte. Must not throw. */
typedef void (*tarsia_text_fn)(void* user, const char* text, size_t size);

/* Receives how many blocks are done, of how many. Must not throw. */
typedef void (*tarsia_progress_fn)(void* user, uint64_t done, uint64_t total);

typedef enum tarsia_execute_flags {
  TARSIA_EXECUTE_CHECK = 1, /* look for races, reads of bytes that nobody wrote, reads of
                               asynchronous copies before their wait, accesses outside a buffer,
                               buffers that overlap; slow. On "cpu" and "ptx"; the latter always
                               checks the code that it runs, and with this the buffers too */
  TARSIA_EXECUTE_FLAGS_FORCE_32BIT = 0x7fffffff
} tarsia_execute_flags;

typedef struct tarsia_execute_options {
  size_t size;
  uint32_t flags;       /* of tarsia_execute_flags */
  uint32_t threads;     /* to use at most; 0: all */
  tarsia_text_fn print; /* receives what `print` instructions write; NULL: it is dropped.
                           Called from one thread at a time */
  void* print_user;
  tarsia_text_fn trace; /* receives every instruction of one block as it runs, with the value
                           that it made; NULL: no trace */
  void* trace_user;
  const char* trace_value;     /* only instructions that make this value, without `%`; NULL: all */
  int64_t trace_block[3];      /* the block to trace */
  uint64_t max_instructions;   /* of all blocks together, then the launch fails; 0: no limit */
  tarsia_progress_fn progress; /* called a few times a second while a long launch goes on, from one
                                  thread at a time, with counts that never fall; NULL: never */
  void* progress_user;
  tarsia_cancel_fn cancel; /* ends the launch, on "cpu" and "ptx"; on a GPU it is asked once, before
                              the kernel is enqueued. NULL: nothing ends it */
  void* cancel_user;
} tarsia_execute_options;

/* Runs the plan's kernel. On a GPU it is enqueued on `stream` (a CUstream; NULL is the default
 * stream), and the call returns without waiting, unless `report` or `options->print` asks for
 * something that is known only at the end; on "cpu" and "ptx", where `stream` must be NULL, the
 * call returns when the launch is over. `args`: one for each parameter, in order. `workspace` must
 * have the bytes that the query names, at a multiple of 256, made ready by tarsia_workspace_init;
 * it may be NULL when there are none, and serves one stream at a time. `options` may be NULL.
 * `report` may be NULL; else it receives a report to be destroyed with OK, LAUNCH_FAILED and
 * FINDINGS, and NULL otherwise.
 *
 * Always checked: number, kinds and types of the arguments, every `assume`, and that every pointer
 * has the bytes that a view of it wants; no access leaves them. A buffer that the program writes
 * must not overlap another argument.
 *
 * On "cpu" the first launch of a plan makes what its blocks need, and the plan keeps it: for each
 * of the first 32 launches that run at once, the tiles of a block for every thread, up to 64 MiB. A
 * later launch allocates nothing for them, unless it is one of more at once than ever, asks for
 * more threads or for larger scratch (alloc.global) than any before, needs more than 16 MiB for all
 * threads, makes views of packed or swizzled layouts whose extents change, or has something to
 * tell: an error, a report, `print`, a trace, TARSIA_EXECUTE_CHECK. The threads that help are the
 * library's; they are started when they are first wanted, sleep between launches, and take no
 * signals. A child of fork() starts its own. A launch that is soon over runs on the calling thread
 * alone and waits for no other. On "ptx" one launch runs at a time.
 *
 * On a GPU a launch that is enqueued and succeeds makes no host allocation (of a kernel with at
 * most 64 parameters and 32 pieces of scratch), and may be captured into a CUDA graph. A call that
 * has to wait for a stream that is being captured is INVALID_ARGUMENT, and leaves the capture
 * whole.
 *
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (an option that the device does not have), REJECTED (the
 * scalars want a workspace beyond the plan's limit), NO_DEVICE (it was lost), LAUNCH_FAILED,
 * OUT_OF_MEMORY and CANCELLED (after which the contents of writable buffers are unspecified),
 * FINDINGS. Thread-safe, as far as no launch writes what another one uses. */
TARSIA_API tarsia_status tarsia_execute(const tarsia_plan* plan, const tarsia_arg* args,
                                        size_t arg_count, void* workspace, void* stream,
                                        const tarsia_execute_options* options,
                                        tarsia_report** report);

/* Makes a workspace of `workspace_bytes` ready for the launches that follow: once for a workspace
 * and a plan. It then serves launches with any scalars for which the query names no more bytes than
 * that; those among `args` are an example (of pointers nothing is looked at but the kind).
 * `workspace_bytes` must be at least what the query names for them. Enqueued on `stream`, which may
 * be captured into a CUDA graph. Errors: INVALID_ARGUMENT, REJECTED (as of tarsia_query_create).
 * Thread-safe. */
TARSIA_API tarsia_status tarsia_workspace_init(const tarsia_plan* plan, const tarsia_arg* args,
                                               size_t arg_count, void* workspace,
                                               uint64_t workspace_bytes, void* stream);
/* Waits for the stream and tells what launches that nobody waited for left in the workspace:
 * assertions that failed, and the lines of `print` if `options->print` is set. `args` as given to
 * tarsia_execute. `report` and errors as there. Thread-safe. */
TARSIA_API tarsia_status tarsia_workspace_report(const tarsia_plan* plan, const tarsia_arg* args,
                                                 size_t arg_count, void* workspace, void* stream,
                                                 const tarsia_execute_options* options,
                                                 tarsia_report** report);

typedef struct tarsia_report_info {
  size_t size;
  uint64_t blocks;       /* that ran; 0 if the program was stopped */
  uint64_t instructions; /* of all blocks together; on "ptx" those of PTX, thread by thread; 0 on a
                            GPU, which does not say */
  uint64_t nanoseconds;  /* that the launch took */
} tarsia_report_info;

TARSIA_API tarsia_status tarsia_report_get(const tarsia_report* report, tarsia_report_info* out);
/* The findings of TARSIA_EXECUTE_CHECK, or what stopped the program; belongs to the report. */
TARSIA_API const tarsia_diagnostics* tarsia_report_findings(const tarsia_report* report);
TARSIA_API void tarsia_report_destroy(tarsia_report* report);

#ifdef __cplusplus
}
#endif

#endif /* TARSIA_TARSIA_H_ */
