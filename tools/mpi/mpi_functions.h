/* What libtarsia_mpi.so offers the `tarsia` command, which opens it at run time: MPI behind a table
 * of functions, so that the command needs neither MPI nor its headers. Messages are bytes with a
 * tag. One call at a time; the caller sees to that. Functions return 0, or the code of an error of
 * MPI. */
#ifndef TARSIA_TOOLS_MPI_MPI_FUNCTIONS_H_
#define TARSIA_TOOLS_MPI_MPI_FUNCTIONS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kTarsiaMpiVersion = 1 };

typedef struct TarsiaMpiFunctions {
  uint32_t version;
  int (*open)(int* rank, int* ranks);
  /* Begins to send or to receive; *request is for `test`. The memory must stay until it is done. */
  int (*send)(int to, int tag, const void* data, uint64_t bytes, void** request);
  int (*receive)(int from, int tag, void* data, uint64_t bytes, void** request);
  /* Whether a request is done; then it is no longer valid. */
  int (*test)(void* request, int* done);
  /* Gives up a request to receive. */
  int (*cancel)(void* request);
  /* Whether a message from any rank is there. */
  int (*probe)(int tag, int* there, int* from);
  int (*close)(void); /* waits for all ranks */
} TarsiaMpiFunctions;

/* The only function of the library. */
typedef const TarsiaMpiFunctions* (*tarsia_mpi_get_fn)(void);
#define TARSIA_MPI_GET "tarsia_mpi_get"

#ifdef __cplusplus
}
#endif

#endif /* TARSIA_TOOLS_MPI_MPI_FUNCTIONS_H_ */
