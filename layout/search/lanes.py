#!/usr/bin/env python3
"""Finds the lane streams: where `lanes` puts the bits of 32 codes of N bits in N words.

usage: layout/search/lanes.py [--only COMPUTE,BITS,EXPONENT]

Prints layout/lanes.def, which says what its rows mean; takes about a minute.

What is searched. The lanes of a register are as wide as the compute type: two of 16 bits, or four of
8. Neighbours among the 32 codes, as many as there are lanes, stand at the same bits of the lanes, at
their target: N adjacent mantissa bits from `position` on for integers, the sign at the top and the
rest at the low end of the exponent for floats. A word turned right by t bits (one instruction, a
"view"; t = 0 is the word itself) shows its lane bit b at b - t, modulo the width of a lane. So all
happens in lane bits, of which a word has 16 or 8:

  - As many whole codes as fit lie in one word each. A pattern says in which view each of them is at
    its target; the rest of a float and its sign may be in two views, for one merging `lop3`.
  - The bits left over make the collected codes. Their pieces come from several words, in a view that
    is there anyway or in one of their own, and are merged by one `lop3` each; what was merged may
    stand `offset` bits off its target and be turned once.
  - Integers come in pairs of one position, so that slots 4i to 4i + 3 share their bias. In lanes of 8
    bits they are all at position 0 and share one bias.

The cost is one instruction for each view but the word itself, for each merge and for each turn, and
one for each row of codes, which masks it and puts the magic number in. In lanes of 16 bits a template
says how bits are shared out among collected codes (3 and 5 bits: one bit of each word; 6: four words
give four bits, two give two and two; 7: six words give two bits, one gives one and one); all else is
tried: every pattern, position and offset, by dynamic programming over the words. In lanes of 8 bits
every way to share the bits out is tried, with patterns that cost up to one instruction more than the
cheapest.
"""

import argparse
import functools
import itertools


class Compute:
    """A type that codes are unpacked to; of no exponent bits if it is an integer."""

    def __init__(self, name, lane, mantissa, exponent, widest_integer):
        self.name, self.lane, self.mantissa, self.exponent = name, lane, mantissa, exponent
        self.widest_integer = widest_integer

    def takes(self, bits, exponent):
        """Whether codes of so many bits and exponent bits (0: integers) become values of the type."""
        if exponent == 0:
            return bits <= self.widest_integer
        room = self.mantissa if self.lane == 8 else bits
        return bits >= 3 and exponent <= min(bits - 1, self.exponent) and bits - 1 - exponent <= room


COMPUTES = (Compute("kF16", 16, 10, 5, 8), Compute("kBF16", 16, 7, 8, 8),
            Compute("kI8", 8, 7, 0, 8), Compute("kF8E4M3FN", 8, 3, 4, 3))


class Shape:
    """A type of codes in a compute type: `exponent` is 0 for integers."""

    def __init__(self, compute, bits, exponent):
        self.bits, self.exponent = bits, exponent
        self.lane, self.mantissa = compute.lane, compute.mantissa

    def positions(self):
        if self.exponent or self.lane == 8:
            return [0]
        # The best places first: a small bias keeps more values exact. Whole bytes stay at 0, where
        # a byte permutation moves them and inserts the magic number; bf16 has no room for them.
        return [0] if self.bits == 8 else list(range(self.mantissa - self.bits, -1, -1))

    def target(self, position):
        if not self.exponent:
            return [position + b for b in range(self.bits)]
        low = self.mantissa - (self.bits - 1 - self.exponent)
        return [low + b for b in range(self.bits - 1)] + [self.lane - 1]


def turned(bits, turn, lane):
    """The places before the view: a set of lane bits as a mask."""
    mask = 0
    for bit in bits:
        mask |= 1 << (bit + turn) % lane
    return mask


class Pattern:
    """Whole codes of a word: (position, ((turn, code mask), ..)), and the bits that are left."""

    def __init__(self, turns, codes, used, lane):
        self.turns = turns  # of the views besides the word itself
        self.codes = codes
        self.lane = lane
        self.left = tuple(b for b in range(lane) if not used >> b & 1)
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
    for turn in range(shape.lane):
        for position in shape.positions():
            mask = turned(shape.target(position), turn, shape.lane)
            out.append((position, ((turn, whole),), mask, 1 << turn))
    if shape.exponent:
        target, sign = shape.target(0), 1 << (shape.bits - 1)
        for a, b in itertools.permutations(range(shape.lane), 2):
            rest, top = turned(target[:-1], a, shape.lane), turned(target[-1:], b, shape.lane)
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


def patterns(shape, least=0):
    """Patterns of one word of the least cost from `least` on, one for each key."""
    count = shape.lane // shape.bits
    for budget in range(least, 3 * count):
        found = []
        choose(fields(shape), count, 0, 0, 1, [], budget, found)
        out = {}
        for chosen, used, turns, rest in found:
            if rest == 0:
                codes = tuple(sorted(((position, pieces) for position, pieces, _, _ in chosen),
                                     key=lambda code: (code[1][0][0], code[0])))
                views = tuple(turn for turn in range(1, shape.lane) if turns >> turn & 1)
                pattern = Pattern(views, codes, used, shape.lane)
                out.setdefault(pattern.key(), pattern)
        if out:
            return list(out.values())
    return []


def one_view(pattern, bits, spots):
    """Ways to move leftover `bits` to the spots by one view: (price, pieces, code mask)."""
    out = []
    for turn in range(pattern.lane):
        landed = [(b - turn) % pattern.lane for b in bits]
        if all(spot in spots for spot in landed):
            mask = sum(1 << spots.index(spot) for spot in landed)
            price = 0 if turn == 0 or turn in pattern.turns else 1
            out.append((price, ((turn, mask),), mask))
    return out


def places(pattern, bits, target, offset, fine=False):
    """The same by one view or, if that is impossible, by two that are merged; or bit by bit."""
    spots = [(t + offset) % pattern.lane for t in target]
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
            turn = (bit - spots[spot]) % pattern.lane
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
        for offset in range(shape.lane):
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
        for offset in range(shape.lane):
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
        for offset in range(shape.lane):
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
        if bit == shape.lane:
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
    if shape.bits == 1 and shape.lane == 16:
        for views in range(1, 5):
            for turns in itertools.combinations((8, 7, 9, 1, 2, 10), views):
                codes = bit_by_bit(shape, turns)
                if codes:
                    return [Pattern(turns, codes, 0xFFFF, shape.lane)], []
    # An even number of equal words forms pairs.
    found = patterns(shape)
    return [min(found, key=preference)] * shape.bits, []


def ways_to_share(shape, candidates, spots):
    """The spots, as a set, that the leftovers of a word can fill, at the least cost: set -> ..

    `spots` are the lane bits where the collected codes are put together, code after code.
    """
    out = {}
    for pattern in candidates:
        for chosen in itertools.permutations(range(len(spots)), len(pattern.left)):
            pieces = {}
            for bit, spot in zip(pattern.left, chosen):
                key = (spot // shape.bits, (bit - spots[spot]) % shape.lane)
                pieces[key] = pieces.get(key, 0) | 1 << spot % shape.bits
            new = {turn for _, turn in pieces if turn and turn not in pattern.turns}
            total = pattern.cost + len(pieces) + len(new)
            mask = sum(1 << spot for spot in chosen)
            if mask not in out or total < out[mask][0]:
                out[mask] = (total, pattern, tuple(sorted(pieces.items())))
    return out


def share_freely(shape, options, spots):
    """Fills all spots, each word the first that is free: (cost, a choice of `options` a word)."""
    by_lowest = [[] for _ in range(spots)]
    for mask, (price, pattern, pieces) in options.items():
        by_lowest[(mask & -mask).bit_length() - 1].append((mask, price, (pattern, pieces)))
    states = {0: (0, ())}
    for _ in range(shape.bits):
        after = {}
        for covered, (cost, trace) in states.items():
            free = ~covered & (covered + 1)
            for mask, price, given in by_lowest[free.bit_length() - 1]:
                key = covered | mask
                if not covered & mask and (key not in after or cost + price < after[key][0]):
                    after[key] = (cost + price, trace + (given,))
        states = after
    return states[(1 << spots) - 1]


def any_leftovers(shape):
    """Collected codes of whatever bits are left, all with one offset."""
    count = shape.lane - shape.lane // shape.bits * shape.bits  # of N words
    cheapest = patterns(shape)
    candidates = cheapest + patterns(shape, cheapest[0].cost + 1)
    best = None
    for offset in range(shape.lane):
        spots = [(t + offset) % shape.lane for t in shape.target(0)] * count
        cost, trace = share_freely(shape, ways_to_share(shape, candidates, spots), len(spots))
        cost += count * (offset != 0)
        if best is None or cost < best[0]:
            best = (cost, offset, trace)
    _, offset, trace = best
    pieces = [[] for _ in range(count)]
    for word, (_, given) in enumerate(trace):
        for (code, turn), mask in given:
            pieces[code].append((word, turn, mask))
    return [pattern for pattern, _ in trace], [(0, offset, mine) for mine in pieces]


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


def search(compute, bits, exponent):
    """The codes of a lane column: (position, offset, [(word, turn, mask), ..])."""
    shape = Shape(compute, bits, exponent)
    if shape.lane % bits == 0:
        words, collected = no_leftovers(shape)
    elif shape.lane == 8:
        words, collected = any_leftovers(shape)
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
    return in_pairs(codes + collected) if shape.lane == 16 else codes + collected


def cost_of(codes):
    """Instructions for a lane column, that is for 32 codes, up to their target."""
    views = {(word, turn) for _, _, pieces in codes for word, turn, _ in pieces if turn}
    return len(views) + sum(len(pieces) + (offset != 0) for _, offset, pieces in codes)


HEADER = """\
// Where `lanes` puts the bits of 32 codes of N bits in N words. Made by layout/search/lanes.py,
// which says how it was searched; any change here makes packed data of another version: raise
// kLanesVersion in layout/bit_layout.h.
//
// The lanes of a register are as wide as the compute type: two of 16 bits or four of 8. Neighbours,
// as many as there are lanes, are a row, in the order of the slots. They stand at the same bits of the
// lanes, at their target: integers in N adjacent bits from `position` on, floats (`exponent` is the
// number of their exponent bits, 0 for integers) with the sign at the top and the rest at the low end
// of the exponent of the compute type.
//
// LANE_COST(compute, N, exponent, cost): instructions that bring 32 codes there.
// LANE(compute, N, exponent, position, offset, pieces): a row, of one piece or more. P(word, turn,
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
    for compute in COMPUTES:
        for bits in range(1, 9):
            for exponent in range(bits):
                wanted = only in (None, f"{compute.name},{bits},{exponent}")
                if wanted and compute.takes(bits, exponent):
                    lines += rows(compute.name, bits, exponent, search(compute, bits, exponent))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
