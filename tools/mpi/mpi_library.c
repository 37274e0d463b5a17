/* libtarsia_mpi.so (tools/mpi/mpi_functions.h). */
#include <mpi.h>
#include <stdlib.h>

#include "tools/mpi/mpi_functions.h"

static int Open(int* rank, int* ranks) {
  int level = MPI_THREAD_SINGLE;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
  if (code != MPI_SUCCESS) return code;
  if (level < MPI_THREAD_SERIALIZED) return MPI_ERR_OTHER;
  code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, ranks);
  return code;
}

static int Keep(int code, MPI_Request* made, void** request) {
  if (code != MPI_SUCCESS) {
    free(made);
    made = NULL;
  }
  *request = made;
  return code;
}

static int Send(int to, int tag, const void* data, uint64_t bytes, void** request) {
  MPI_Request* const made = malloc(sizeof *made);
  if (made == NULL) return MPI_ERR_NO_MEM;
  return Keep(MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, made), made, request);
}

static int Receive(int from, int tag, void* data, uint64_t bytes, void** request) {
  MPI_Request* const made = malloc(sizeof *made);
  if (made == NULL) return MPI_ERR_NO_MEM;
  return Keep(MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, made), made,
              request);
}

static int Test(void* request, int* done) {
  const int code = MPI_Test(request, done, MPI_STATUS_IGNORE);
  if (*done || code != MPI_SUCCESS) free(request);
  return code;
}

static int Cancel(void* request) {
  MPI_Request* const made = request;
  int code = MPI_Cancel(made);
  if (code == MPI_SUCCESS) code = MPI_Wait(made, MPI_STATUS_IGNORE);
  free(made);
  return code;
}

static int Probe(int tag, int* there, int* from) {
  MPI_Status status;
  const int code = MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, there, &status);
  if (code == MPI_SUCCESS && *there) *from = status.MPI_SOURCE;
  return code;
}

static int Close(void) { return MPI_Finalize(); }

__attribute__((visibility("default"))) const TarsiaMpiFunctions* tarsia_mpi_get(void);

const TarsiaMpiFunctions* tarsia_mpi_get(void) {
  static const TarsiaMpiFunctions functions = {
      kTarsiaMpiVersion, Open, Send, Receive, Test, Cancel, Probe, Close,
  };
  return &functions;
}
