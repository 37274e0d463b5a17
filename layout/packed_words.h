// Where the words of each thread lie in a tile of the packed form (layout/mem_layout.h): in pieces
// of 4 words while 4 remain, then one of 2, then one of 1; piece-major, then thread.
#ifndef TARSIA_LAYOUT_PACKED_WORDS_H_
#define TARSIA_LAYOUT_PACKED_WORDS_H_

#include <cstdint>

namespace tarsia {

// The word of thread p is word first + p * piece of the tile.
struct PackedWord {
  int64_t first = 0;
  int64_t piece = 1;  // words of a thread that lie together
};

// Of word number `word` of `words`, in a tile of so many threads.
constexpr PackedWord PlaceOfPackedWord(int64_t threads, int64_t words, int64_t word) {
  int64_t begin = word / 4 * 4;  // of the word's piece
  int64_t piece = 4;
  if (words - begin < 4) {
    const int64_t rest = words - begin;
    const bool in_pair = rest >= 2 && word - begin < 2;
    piece = in_pair ? 2 : 1;
    if (!in_pair && rest >= 2) begin += 2;
  }
  return {threads * begin + (word - begin), piece};
}

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_PACKED_WORDS_H_
