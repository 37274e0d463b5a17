#!/usr/bin/env python3
"""Draws a picture of docs/tutorial.md as SVG, on standard output.

    scripts/draw_tutorial.py blocks|packed TARSIA

blocks: the grid, the tile of a block, and the threads of a warp.
packed: a packed tile of 4-bit codes. `tarsia layout` says which thread holds which element, and where its
        bits are.
"""
import itertools
import re
import subprocess
import sys

FRAGMENT = "permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0])"
# The fills are light in both themes, so that text on them is dark.
BLUE, PURPLE, GREEN, YELLOW, PLAIN = "#d3e4f8", "#e2d3f8", "#d3f0dc", "#f6ebc4", "#f0f3f6"
STYLE = """<style>
text{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;text-anchor:middle}
.a{text-anchor:start}.s{font-size:9px}.c{fill:#1f2328}.l{fill:#59636e}
rect{stroke:#8c959f;stroke-width:.7}.o{fill:none;stroke-dasharray:3 2}
line{stroke:#8c959f;stroke-dasharray:2 2}
@media (prefers-color-scheme:dark){.l{fill:#9da7b3}}
</style>"""


class Picture:
    def __init__(self, width, height):
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      f'viewBox="0 0 {width} {height}">', STYLE]

    def box(self, x, y, width, height, fill=None):
        look = f'fill="{fill}"' if fill else 'class="o"'
        self.lines.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {look}/>')

    def text(self, x, y, text, kind="c"):
        self.lines.append(f'<text x="{x:g}" y="{y:g}" class="{kind}">{text}</text>')

    def line(self, x1, y1, x2, y2):
        self.lines.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>')

    def svg(self):
        return "\n".join([*self.lines, "</svg>"])


def blocks(_tarsia):
    n, tile, block, warp = 1000, 128, 2, 1
    count = -(-n // tile)
    picture = Picture(724, 246)
    wide = 704 / count
    picture.text(10, 18, f"the grid: {count} blocks, each with the tile of 128 elements that begins at %b * 128", "l a")
    for b in range(count):
        left, inside = 10 + b * wide, min(tile, n - b * tile)
        picture.box(left, 28, wide * inside / tile, 40, BLUE if b == block else PLAIN)
        if inside < tile:
            picture.box(left + wide * inside / tile, 28, wide * (tile - inside) / tile, 40)
        picture.text(left + wide / 2, 44, f"%b = {b}")
        picture.text(left + wide / 2, 60, f"{b * tile}..{b * tile + inside - 1}", "c s")
    picture.text(684, 82, "no elements", "l s")

    first, warps = block * tile, tile // 32
    picture.line(10 + block * wide, 68, 10, 112)
    picture.line(10 + (block + 1) * wide, 68, 714, 112)
    picture.text(362, 104, f"the tile of block {block}, in the registers of {warps} warps", "l")
    wide = 704 / warps
    for w in range(warps):
        picture.box(10 + w * wide, 112, wide, 40, PURPLE if w == warp else BLUE)
        picture.text(10 + (w + 0.5) * wide, 128, f"warp {w}")
        picture.text(10 + (w + 0.5) * wide, 144, f"{first + 32 * w}..{first + 32 * w + 31}", "c s")

    picture.line(10 + warp * wide, 152, 10, 196)
    picture.line(10 + (warp + 1) * wide, 152, 714, 196)
    picture.text(316, 188, f"the threads of warp {warp}, and the element that each of them holds", "l")
    for t in range(32):
        picture.box(10 + 22 * t, 196, 22, 40, PURPLE)
        picture.text(21 + 22 * t, 212, f"t{32 * warp + t}", "c s")
        picture.text(21 + 22 * t, 228, f"{first + 32 * warp + t}", "c s")
    return picture.svg()


def ask(tarsia, *arguments):
    return subprocess.run([tarsia, "layout", *arguments], capture_output=True, text=True, check=True).stdout


def slots_of_word(tarsia):
    """The slot of each bit of the first word of a thread, from bit 31 to bit 0."""
    cells = re.findall(r">(\d+)\.\d+<", ask(tarsia, "lanes(u4, 32, f16)", "--svg", "-"))
    return [int(slot) for slot in cells[:32]]


def draw_tile(picture, holders, fills):
    picture.text(10, 18, "64 rows (k), 16 columns (n)", "l a")
    for k, row in enumerate(holders):
        if k % 8 == 0:
            picture.text(20, 38 + 9 * k, k, "l s")
        for n, (thread, _) in enumerate(row):
            picture.box(30 + 14 * n, 30 + 9 * k, 14, 9, fills.get(thread, PLAIN))
    for n in range(0, 16, 4):
        picture.text(37 + 14 * n, 616, n, "l s")


def draw_memory(picture, fills):
    picture.text(300, 18, "memory: 16 bytes of each thread, 512 bytes in all", "l a")
    for thread in range(32):
        left, top = 300 + 105 * (thread % 4), 30 + 24 * (thread // 4)
        picture.box(left, top, 105, 24, fills.get(thread, PLAIN))
        picture.text(left + 52, top + 16, f"thread {thread}")
    for word in range(4):
        picture.box(300 + 105 * word, 284, 105, 24, BLUE)
        picture.text(352 + 105 * word, 300, f"word {word}: 8 codes", "c s")
    picture.text(300, 274, "the 16 bytes of thread 0, which it loads at once", "l a")


def draw_word(picture, tarsia, holders):
    picture.text(300, 350, "word 0 of thread 0: its first 8 codes, as k,n", "l a")
    places = {slot: (k, n) for k, row in enumerate(holders) for n, (thread, slot) in enumerate(row) if thread == 0}
    wide, left = 420 / 32, 300
    for slot, bits in itertools.groupby(slots_of_word(tarsia)):
        run = len(list(bits)) * wide
        picture.box(left, 360, run, 28, BLUE if places[slot][0] % 2 == 0 else YELLOW)
        picture.text(left + run / 2, 378, f"{places[slot][0]},{places[slot][1]}", "c s")
        left += run
    for bit in (31, 16, 0):
        picture.text(300 + wide * (31.5 - bit), 402, f"bit {bit}" if bit == 16 else bit, "l s")
    picture.text(300, 428, "Codes of neighbouring rows are 16 bits apart, so one", "l a")
    picture.text(300, 444, "operation on the word, shifted or rotated where", "l a")
    picture.text(300, 460, "needed, decodes two of them.", "l a")


def packed(tarsia):
    holders = [[tuple(map(int, cell.split(":"))) for cell in line.split()] for line in ask(tarsia, FRAGMENT).splitlines()]
    fills = {0: BLUE, 1: PURPLE, 4: GREEN}
    picture = Picture(730, 626)
    draw_tile(picture, holders, fills)
    draw_memory(picture, fills)
    draw_word(picture, tarsia, holders)
    return picture.svg()


def main():
    drawings = {"blocks": blocks, "packed": packed}
    if len(sys.argv) != 3 or sys.argv[1] not in drawings:
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    print(drawings[sys.argv[1]](sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
