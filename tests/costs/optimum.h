// The least cost of a small program over all power-of-two layouts of its tiles, by enumeration.
//
// A tile of 2^n elements has n index bits. A power-of-two layout of it over one warp gives some of
// these bits to the 5 bits of the lane, in some order and with replicas in the lane bits that are
// left, and the others to the slots, in some order. What is enumerated is which bits are the
// lane's: two layouts with the same set count as one, at the price of the cheaper. That never makes
// the optimum larger than the true one, so a choice within 5% of it is within 5% of the true one:
//
// - The order of slots changes an access by its innermost run alone, which each access here chooses
//   for itself; in the program it takes register moves to change it, which are free here.
// - The order of lanes changes nothing of an access to global memory, an instruction by element, or
//   a reduction within one warp: they count sets of addresses, slots, and lane bits. An access to
//   shared memory takes its best order here.
// - A conversion takes the dimension, the run and the phases that suit each side best, without bank
//   conflicts; `ldmatrix` exactly where the lanes are those of its matrices. By shuffles it takes
//   the lanes in the order that needs the fewest.
#ifndef TARSIA_TESTS_COSTS_OPTIMUM_H_
#define TARSIA_TESTS_COSTS_OPTIMUM_H_

#include <cstdint>

#include "compiler/cost/cost.h"
#include "compiler/tile/form.h"

namespace tarsia::costs {

struct Optimum {
  compiler::Cost cost = 0;
  int64_t states = 0;   // sets of lane bits, of all tiles and instructions
  int64_t layouts = 0;  // that they stand for: with their orders of lanes
};

// The form is one before the pass `layouts`, of one warp and without written layouts.
Optimum FindOptimum(const compiler::tile::Form& form, compiler::Target target);

}  // namespace tarsia::costs

#endif  // TARSIA_TESTS_COSTS_OPTIMUM_H_
