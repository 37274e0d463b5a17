#!/usr/bin/env python3
"""Finds the lane streams: where `lanes` puts the bits of 32 codes of N bits in N words.

usage: layout/search/lanes.py [--only COMPUTE,BITS,EXPONENT]

Prints layout/lanes.def, which says what its rows mean; takes about a minute.

What is searched. The 32 codes are 16 pairs; a pair's codes stand at the same bits of the two 16-bit
lanes of a register, at their target: N adjacent mantissa bits from `position` on for integers, the
sign at bit 15 and the rest at the low end of the exponent for floats. A word turned right by t bits
(one instruction, a "view"; t = 0 is the word itself) shows its lane bit b at b - t, modulo 16. So
all happens in lane bits modulo 16, of which a word has 16:

  - As many whole codes as fit lie in one word each. A pattern says in which view each of them is at
    its target; the rest of a float and its sign may be in two views, for one merging `lop3`.
  - The bits left over make the collected codes. Their pieces come from several words, in a view that
    is there anyway or in one of their own, and are merged by one `lop3` each; what was merged may
    stand `offset` bits off its target and be turned once.
  - Integers come in pairs of one position, so that slots 4i to 4i + 3 share their bias.

The cost is one instruction for each view but the word itself, for each merge and for each turn, and
one for each pair of codes, which masks it and puts the magic number in. How bits are shared out
among collected codes is a template (3 and 5 bits: one bit of each word; 6: four words give four
bits, two give two and two; 7: six words give two bits, one gives one and one); all else is tried:
every pattern, position and offset, by dynamic programming over the words.
"""

import argparse
import functools
import itertools

LANE = 16
COMPUTES = (("kF16", 10, 5), ("kBF16", 7, 8))  # name, mantissa bits, exponent bits


class Shape:
    """A type of codes in a compute type: `exponent` is 0 for integers."""

    def __init__(self, mantissa, bits, exponent):
        self.bits, self.exponent, self.mantissa = bits, exponent, mantissa

    def positions(self):
        if self.exponent:
            return [0]
        # The best places first: a small bias keeps more values exact. Whole bytes stay at 0, where
        # a byte permutation moves them and inserts the magic number; bf16 has no room for them.
        return [0] if self.bits == 8 else list(range(self.mantissa - self.bits, -1, -1))

    def target(self, position):
        if not self.exponent:
            return [position + b for b in range(self.bits)]
        low = self.mantissa - (self.bits - 1 - self.exponent)
        return [low + b for b in range(self.bits - 1)] + [LANE - 1]


def turned(bits, turn):
    """The places before the view: a set of lane bits as a mask."""
    mask = 0
    for bit in bits:
        mask |= 1 << (bit + turn) % LANE
    return mask


class Pattern:
    """Whole codes of a word: (position, ((turn, code mask), ..)), and the bits that are left."""

    def __init__(self, turns, codes, used):
        self.turns = turns  # of the views besides the word itself
        self.codes = codes
        self.left = tuple(b for b in range(LANE) if not used >> b & 1)
        self.parity = 0
        for position, _ in codes:
            self.parity ^= 1 << position
        self.cost = len(turns) + sum(len(pieces) for _, pieces in codes)

    def key(self):
        return (self.parity, self.turns, self.left, self.cost)


def fields(shape):
    """All ways to place one code: (position, pieces, lane bits, views as a mask)."""
    whole = (1 << shape.bits) - 1
    out = []
    for turn in range(LANE):
        for position in shape.positions():
            mask = turned(shape.target(position), turn)
            out.append((position, ((turn, whole),), mask, 1 << turn))
    if shape.exponent:
        target, sign = shape.target(0), 1 << (shape.bits - 1)
        for a, b in itertools.permutations(range(LANE), 2):
            rest, top = turned(target[:-1], a), turned(target[-1:], b)
            if not rest & top:
                pieces = ((a, whole ^ sign), (b, sign))
                out.append((0, pieces, rest | top, 1 << a | 1 << b))
    return out


def choose(options, count, used, first, turns, chosen, budget, found):
    """All sets of `count` disjoint options whose views and merges cost at most `budget`."""
    if count == 0:
        found.append((tuple(chosen), used, turns, budget))
        return
    for i in range(first, len(options)):
        _, pieces, mask, needs = options[i]
        if mask & used:
            continue
        rest = budget - (needs & ~turns).bit_count() - len(pieces) + 1
        if rest < 0:
            continue
        chosen.append(options[i])
        choose(options, count - 1, used | mask, i + 1, turns | needs, chosen, rest, found)
        chosen.pop()


def patterns(shape):
    """Patterns of one word of the least cost, one for each key."""
    count = LANE // shape.bits
    for budget in range(3 * count):
        found = []
        choose(fields(shape), count, 0, 0, 1, [], budget, found)
        out = {}
        for chosen, used, turns, rest in found:
            if rest == 0:
                codes = tuple(sorted(((position, pieces) for position, pieces, _, _ in chosen),
                                     key=lambda code: (code[1][0][0], code[0])))
                views = tuple(turn for turn in range(1, LANE) if turns >> turn & 1)
                pattern = Pattern(views, codes, used)
                out.setdefault(pattern.key(), pattern)
        if out:
            return list(out.values())
    return []


def one_view(pattern, bits, spots):
    """Ways to move leftover `bits` to the spots by one view: (price, pieces, code mask)."""
    out = []
    for turn in range(LANE):
        landed = [(b - turn) % LANE for b in bits]
        if all(spot in spots for spot in landed):
            mask = sum(1 << spots.index(spot) for spot in landed)
            price = 0 if turn == 0 or turn in pattern.turns else 1
            out.append((price, ((turn, mask),), mask))
    return out


def places(pattern, bits, target, offset, fine=False):
    """The same by one view or, if that is impossible, by two that are merged; or bit by bit."""
    spots = [(t + offset) % LANE for t in target]
    out = one_view(pattern, bits, spots)
    if fine:
        return out + bit_by_bit_places(pattern, bits, spots)
    if out or len(bits) < 2:
        return out
    for size in range(1, len(bits) // 2 + 1):
        for part in itertools.combinations(bits, size):
            rest = tuple(b for b in bits if b not in part)
            for price0, pieces0, mask0 in one_view(pattern, part, spots):
                for price1, pieces1, mask1 in one_view(pattern, rest, spots):
                    if not mask0 & mask1 and pieces0[0][0] != pieces1[0][0]:
                        out.append((price0 + price1 + 1, pieces0 + pieces1, mask0 | mask1))
    return out or bit_by_bit_places(pattern, bits, spots)


def bit_by_bit_places(pattern, bits, spots):
    best = {}
    for chosen in itertools.permutations(range(len(spots)), len(bits)):
        views = {}
        for bit, spot in zip(bits, chosen):
            turn = (bit - spots[spot]) % LANE
            views[turn] = views.get(turn, 0) | 1 << spot
        price = len(views) - 1 + sum(turn != 0 and turn not in pattern.turns for turn in views)
        mask = sum(1 << spot for spot in chosen)
        if mask not in best or price < best[mask][0]:
            best[mask] = (price, tuple(sorted(views.items())), mask)
    return list(best.values())


def choices(shape, candidates, target, offset):
    """The bits that a word can provide for a collected code, at the least cost: (parity, mask) -> .."""
    out = {}
    for pattern in candidates:
        parity = 0 if shape.exponent else pattern.parity
        for price, pieces, mask in places(pattern, pattern.left, target, offset):
            total = price + pattern.cost
            if (parity, mask) not in out or total < out[(parity, mask)][0]:
                out[(parity, mask)] = (total, (pattern, pieces))
    return out


def share_out(states, options, words):
    """Lets each of `words` words provide bits; (parity, covered) -> (cost, the bits)."""
    for _ in range(words):
        after = {}
        for (parity, covered), (cost, trace) in states.items():
            for (flips, mask), (price, given) in options.items():
                if covered & mask:
                    continue
                key = (parity ^ flips, covered | mask)
                if key not in after or cost + price < after[key][0]:
                    after[key] = (cost + price, trace + (given,))
        states = after
    return states


def one_bit_each(shape, words):
    """One collected code, a bit of each word."""
    candidates = patterns(shape)
    best = None
    for position in shape.positions():
        target = shape.target(position)
        for offset in range(LANE):
            start = {(0 if shape.exponent else 1 << position, 0): (shape.bits + (offset != 0), ())}
            states = share_out(start, choices(shape, candidates, target, offset), words)
            end = states.get((0, (1 << words) - 1))
            if end and (best is None or end[0] < best[0]):
                best = (end[0], position, offset, end[1])
    cost, position, offset, trace = best
    pieces = [(word, *piece) for word, (_, given) in enumerate(trace) for piece in given]
    return [pattern for pattern, _ in trace], [(position, offset, pieces)]


def two_bits_each(shape):
    """Two collected codes of 7 bits: two bits of each of three words, the last from word 6."""
    candidates = patterns(shape)
    best = None
    for position in shape.positions():
        target = shape.target(position)
        for offset in range(LANE):
            options = choices(shape, candidates, target, offset)
            states = share_out({(0, 0): (0, ())}, options, 3)
            halves = {}
            for (parity, covered), value in states.items():
                halves[(parity, 0x7F ^ covered)] = value
            for last in candidates:
                singles = [{mask: (price, pieces) for price, pieces, mask in
                            sorted(places(last, (bit,), target, offset), reverse=True)}
                           for bit in last.left]
                parity = 0 if shape.exponent else last.parity
                for (parity0, need0), half0 in halves.items():
                    for need1 in singles[1]:
                        half1 = halves.get((parity0 ^ parity, need1))
                        if half1 is None or need0 not in singles[0]:
                            continue
                        total = (half0[0] + half1[0] + last.cost + singles[0][need0][0] +
                                 singles[1][need1][0] + 2 * 4 + 2 * (offset != 0))
                        if best is None or total < best[0]:
                            ends = (singles[0][need0][1], singles[1][need1][1])
                            best = (total, position, offset, half0[1], half1[1], last, ends)
    _, position, offset, half0, half1, last, ends = best
    words = [pattern for pattern, _ in half0 + half1] + [last]
    codes = []
    for first, half, end in ((0, half0, ends[0]), (3, half1, ends[1])):
        pieces = [(first + i, *piece) for i, (_, given) in enumerate(half) for piece in given]
        codes.append((position, offset, pieces + [(6, *piece) for piece in end]))
    return words, codes


def four_bits_each(shape, fine=False):
    """Four collected codes of 6 bits: four bits of words 0 to 3, two bits twice of words 4, 5."""
    candidates = patterns(shape)
    best = None
    for position in shape.positions():
        target = shape.target(position)
        for offset in range(LANE):
            # For each set of code bits the cheapest word that provides it.
            fours, twos = {}, {}
            for pattern in candidates:
                for price, pieces, mask in places(pattern, pattern.left, target, offset, fine):
                    total = price + pattern.cost
                    if mask not in fours or total < fours[mask][0]:
                        fours[mask] = (total, pattern, pieces)
                for other in pattern.left[1:]:
                    low = (pattern.left[0], other)
                    high = tuple(b for b in pattern.left if b not in low)
                    ways = {}
                    for price, pieces, mask in places(pattern, low, target, offset, fine):
                        if mask not in ways or price < ways[mask][0]:
                            ways[mask] = (price, pieces)
                    for price, pieces, mask in places(pattern, high, target, offset, fine):
                        if mask not in ways:
                            continue
                        total = price + ways[mask][0] + pattern.cost
                        if mask not in twos or total < twos[mask][0]:
                            twos[mask] = (total, pattern, (ways[mask][1], pieces))
            for mask, (cost4, nibble, pieces) in fours.items():
                if 0x3F ^ mask not in twos:
                    continue
                cost2, pair, ends = twos[0x3F ^ mask]
                total = 4 * cost4 + 2 * cost2 + 4 * (2 + (offset != 0))
                if best is None or total < best[0]:
                    best = (total, position, offset, nibble, pieces, pair, ends)
    if best is None:  # no bits that one view or two can move
        return four_bits_each(shape, True)
    _, position, offset, nibble, pieces, pair, ends = best
    codes = []
    for word in range(4):
        mine = [(word, *piece) for piece in pieces]
        mine += [(4 + word // 2, *piece) for piece in ends[word % 2]]
        codes.append((position, offset, mine))
    return [nibble] * 4 + [pair] * 2, codes


def bit_by_bit(shape, turns):
    """Sixteen codes of one bit in pairs of one position, in the given views; None if there is no way."""
    views = (0,) + turns

    def extend(bit, taken, codes):
        if bit == LANE:
            parity = functools.reduce(lambda x, y: x ^ y, (1 << p for p, _ in codes))
            needed = {pieces[0][0] for _, pieces in codes}
            return tuple(codes) if parity == 0 and needed == set(views) else None
        for turn in views:
            position = bit - turn
            if position < 0 or position >= shape.mantissa:
                continue
            found = extend(bit + 1, taken, codes + [(position, ((turn, 1),))])
            if found:
                return found
        return None

    return extend(0, 0, [])


def no_leftovers(shape):
    if shape.bits == 1:
        for views in range(1, 5):
            for turns in itertools.combinations((8, 7, 9, 1, 2, 10), views):
                codes = bit_by_bit(shape, turns)
                if codes:
                    return [Pattern(turns, codes, 0xFFFF)], []
    # An even number of equal words forms pairs.
    found = patterns(shape)
    return [min(found, key=preference)] * shape.bits, []


def preference(pattern):
    """High positions, then a byte rotation."""
    return (-sum(position for position, _ in pattern.codes), pattern.turns != (8,))


def in_pairs(codes):
    """Sorts codes by position, otherwise in their order."""
    out, rest = [], list(codes)
    while rest:
        code = rest.pop(0)
        mate = next(i for i, other in enumerate(rest) if other[0] == code[0])
        out += [code, rest.pop(mate)]
    return out


def search(mantissa, bits, exponent):
    """The sixteen codes of a lane column: (position, offset, [(word, turn, mask), ..])."""
    shape = Shape(mantissa, bits, exponent)
    if LANE % bits == 0:
        words, collected = no_leftovers(shape)
    elif bits in (3, 5):
        words, collected = one_bit_each(shape, bits)
    elif bits == 6:
        words, collected = four_bits_each(shape)
    else:
        words, collected = two_bits_each(shape)
    codes = []
    for word, pattern in enumerate(words):
        for position, pieces in pattern.codes:
            codes.append((position, 0, [(word, turn, mask) for turn, mask in pieces]))
    return in_pairs(codes + collected)


def cost_of(codes):
    """Instructions for a lane column, that is for 32 codes, up to their target."""
    views = {(word, turn) for _, _, pieces in codes for word, turn, _ in pieces if turn}
    return len(views) + sum(len(pieces) + (offset != 0) for _, offset, pieces in codes)


HEADER = """\
// Where `lanes` puts the bits of 32 codes of N bits in N words. Made by layout/search/lanes.py,
// which says how it was searched; any change here makes packed data of another version: raise
// kLanesVersion in layout/bit_layout.h.
//
// The 32 codes are 16 pairs of neighbours, a row each in the order of the slots. The codes of a
// pair stand at the same bits of the two 16-bit lanes of a register, at their target: integers in N
// adjacent bits from `position` on, floats (`exponent` is the number of their exponent bits, 0 for
// integers) with the sign at bit 15 and the rest at the low end of the exponent of the compute type.
//
// LANE_COST(compute, N, exponent, cost): instructions that bring 32 codes there.
// LANE(compute, N, exponent, position, offset, pieces): a pair, of one piece or more. P(word, turn,
//   mask): the word turned right by `turn` bits has the code's bits of the mask at their target, or
//   `offset` bits above it (modulo 32): what the pieces make is then turned right by so much.
"""


def rows(name, bits, exponent, codes):
    """The rows of one type."""
    out = [f"LANE_COST({name}, {bits}, {exponent}, {cost_of(codes)})"]
    for position, offset, pieces in codes:
        text = ", ".join(f"P({word}, {turn}, 0x{mask:02X})" for word, turn, mask in pieces)
        line = f"LANE({name}, {bits}, {exponent}, {position}, {offset}, {text})"
        while len(line) > 100:
            cut = line.rindex(", P(", 0, 99) + 1
            out.append(line[:cut])
            line = "     " + line[cut + 1:]
        out.append(line)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", metavar="COMPUTE,BITS,EXPONENT")
    only = parser.parse_args().only
    lines = HEADER.splitlines()
    for name, mantissa, exponents in COMPUTES:
        for bits in range(1, 9):
            for exponent in range(0, (min(bits - 1, exponents) if bits >= 3 else 0) + 1):
                if only in (None, f"{name},{bits},{exponent}"):
                    lines += rows(name, bits, exponent, search(mantissa, bits, exponent))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
