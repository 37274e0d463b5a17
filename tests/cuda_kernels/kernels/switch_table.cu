// A machine with a stack: every thread runs a program of its own, by a switch that becomes a table
// of jumps.

enum Code { kPush, kAdd, kSub, kMul, kSwap, kDup, kNeg, kAnd, kXor, kDrop, kEnd };

extern "C" __global__ void run_programs(const int* programs, int length, int* results, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int* at = programs + i * length;
  int below = 0;
  int top = 0;
  for (;;) {
#ifdef FAULT_TAKES_ANY_CODE
    const int code = *at++ + 1;
#else
    const int code = *at++;
#endif
    switch (code) {
      case kPush:
        below = top;
        top = *at++;
        break;
      case kAdd:
        top += below;
        break;
      case kSub:
        top = below - top;
        break;
      case kMul:
        top *= below;
        break;
      case kSwap: {
        const int kept = top;
        top = below;
        below = kept;
        break;
      }
      case kDup:
        below = top;
        break;
      case kNeg:
        top = -top;
        break;
      case kAnd:
        top &= below;
        break;
      case kXor:
        top ^= below;
        break;
      case kDrop:
        top = below;
        break;
      case kEnd:
        results[i] = top;
        return;
      default:
        // finds FAULT_TAKES_ANY_CODE: trap
        __trap();
    }
  }
}
