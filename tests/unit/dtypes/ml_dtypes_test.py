#!/usr/bin/env python3
"""Compares `tarsia dtype` with ml_dtypes, bit for bit.

    ml_dtypes_test.py TARSIA

For each type that both have: all codes to their values, and all 2^16 values of f16 and of bf16 to codes without
saturation. Where the two differ by intent (docs/dtypes.md lists it), what both give must be exactly what is
written here. Exits with 77, which ctest takes for "skipped", where numpy or ml_dtypes is missing.
"""
import subprocess
import sys
import tempfile

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

FLOATS = {
    "float4_e2m1fn": "f4e2m1", "float6_e2m3fn": "f6e2m3", "float6_e3m2fn": "f6e3m2",
    "float8_e3m4": "f8e3m4", "float8_e4m3": "f8e4m3", "float8_e5m2": "f8e5m2",
    "float8_e4m3fn": "f8e4m3fn", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e4m3b11fnuz": "f8e4m3b11fnuz", "float8_e8m0fnu": "e8m0", "bfloat16": "bf16",
}
INTEGERS = {"int1": "i1", "int2": "i2", "int4": "i4", "uint1": "u1", "uint2": "u2", "uint4": "u4"}
FINITE_ONLY = ("f4e2m1", "f6e2m3", "f6e3m2")


def tarsia(command, *arguments):
    result = subprocess.run([command, "dtype", *arguments], capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def decoded(command, name):
    """The value of every code."""
    return np.array([float(line.split()[3]) for line in tarsia(command, name, "--table")])


def encoded(command, name, path, *options):
    return np.array([int(line) for line in tarsia(command, name, "--encode", path, *options)])


def write_values(folder, name, values):
    path = f"{folder}/{name}.txt"
    with open(path, "w", encoding="utf-8") as file:
        for value in values:
            text = "nan" if np.isnan(value) else "inf" if np.isinf(value) else float(abs(value)).hex()
            file.write(f"{'-' if np.signbit(value) else ''}{text}\n")
    return path


def same(ours, theirs):
    """Equal numbers, zeros with their signs; any NaN is a NaN."""
    nan = np.isnan(ours) & np.isnan(theirs)
    return nan | ((ours == theirs) & (np.signbit(ours) == np.signbit(theirs)))


def float_exceptions(name, x):
    """What differs from ml_dtypes by intent: [(why, which inputs, our code, theirs)]."""
    nan = np.isnan(x)
    if name in FINITE_ONLY:
        bits = int(name[1])
        largest = (1 << (bits - 1)) - 1
        # They have no NaN to give: theirs is a zero, of the opposite sign.
        return [("NaN into a type without NaN", nan, np.full(x.shape, largest),
                 np.where(np.signbit(x), 0, 1 << (bits - 1)))]
    if name == "e8m0":
        with np.errstate(divide="ignore", invalid="ignore"):
            fraction, exponent = np.frexp(np.where(np.isfinite(x), x, 1))
        code = exponent + 126  # of the power of two at or below x: x = 2 * fraction * 2^(code - 127)
        positive = np.isfinite(x) & (x > 0)
        tie = positive & (code >= 0) & (code % 2 == 0) & (fraction == 0.75)
        low = positive & (code == 0) & (fraction > 0.5) & (fraction < 0.75)
        return [
            ("zero and negative numbers into e8m0", ~nan & ((x <= 0)), np.zeros(x.shape, int),
             np.full(x.shape, 255)),
            ("ties in e8m0 above even codes", tie, code, code + 1),
            ("numbers between 2^-127 and 1.5 * 2^-127 into e8m0", low, np.zeros(x.shape, int),
             np.ones(x.shape, int)),
        ]
    return []


def check(label, agree, exceptions, ours, theirs, problems, counts):
    expected = np.zeros(ours.shape, bool)
    for why, where, our_code, their_code in exceptions:
        expected |= where
        counts[why] = counts.get(why, 0) + int(where.sum())
        if not (ours[where] == our_code[where]).all():
            problems.append(f"{label}: {why}: ours is not what is documented")
        if not (theirs[where] == their_code[where]).all():
            problems.append(f"{label}: {why}: theirs is not what is documented")
    for at in np.flatnonzero(~agree & ~expected)[:5]:
        problems.append(f"{label}: input {at:#x}: {ours[at]:#x} here, {theirs[at]:#x} in ml_dtypes")


def check_float(command, their_name, name, sources, problems, counts):
    their_type = getattr(ml_dtypes, their_name)
    bits = 16 if name == "bf16" else 8 if name == "e8m0" else int(name[1])
    storage = np.uint16 if bits == 16 else np.uint8
    codes = np.arange(1 << bits).astype(storage)
    with np.errstate(all="ignore"):
        theirs = codes.view(their_type).astype(np.float64)
    ours = decoded(command, name)
    for code in np.flatnonzero(~same(ours, theirs))[:5]:
        problems.append(f"{name}: code {code:#x} is {ours[code]} here, {theirs[code]} in ml_dtypes")
    for source, (values, path) in sources.items():
        if source == name:
            continue
        with np.errstate(all="ignore"):
            x = values.astype(np.float64)
            theirs = values.astype(their_type).view(storage).astype(int)
        ours = encoded(command, name, path, "--nosat")
        check(f"{source} to {name}", ours == theirs, float_exceptions(name, x), ours, theirs, problems, counts)


def check_integer(command, their_name, name, sources, wholes, problems, counts):
    their_type = getattr(ml_dtypes, their_name)
    bits, signed = int(name[1:]), name[0] == "i"
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    codes = np.arange(1 << bits).astype(np.uint8)
    theirs = codes.view(their_type).astype(np.int32)
    ours = decoded(command, name).astype(np.int32)
    if not (ours == theirs).all():
        problems.append(f"{name}: codes decode to {ours} here, {theirs} in ml_dtypes")
    mask = (1 << bits) - 1
    for source, (values, path) in sources.items():
        with np.errstate(all="ignore"):
            x = values.astype(np.float64)
            theirs = values.astype(their_type).astype(int) & mask
        ours = encoded(command, name, path, "--nosat")
        whole = np.trunc(np.where(np.isfinite(x), x, 0))
        outside = ~np.isfinite(x) | (whole < least) | (whole > most)
        saturated = np.where(np.isnan(x), 0, np.clip(np.trunc(np.nan_to_num(x)), least, most)).astype(int) & mask
        check(f"{source} to {name}", ours == theirs,
              [("floats outside the range of an integer type", outside, saturated, theirs)],
              ours, theirs, problems, counts)
    values, path = wholes
    theirs = values.astype(their_type).astype(int) & mask
    ours = encoded(command, name, path, "--wrap")
    check(f"int16 to {name}, wrap", ours == theirs, [], ours, theirs, problems, counts)


def main():
    command = sys.argv[1]
    problems, counts = [], {}
    with tempfile.TemporaryDirectory() as folder:
        halves = np.arange(1 << 16).astype(np.uint16)
        sources = {}
        for source, dtype in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
            values = halves.view(dtype)
            with np.errstate(all="ignore"):
                sources[source] = values, write_values(folder, source, values.astype(np.float64))
        whole_values = halves.view(np.int16)
        path = f"{folder}/int16.txt"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{value}\n" for value in whole_values)
        checked = 0
        for their_name, name in FLOATS.items():
            if hasattr(ml_dtypes, their_name):
                check_float(command, their_name, name, sources, problems, counts)
                checked += 1
        for their_name, name in INTEGERS.items():
            if hasattr(ml_dtypes, their_name):
                check_integer(command, their_name, name, sources, (whole_values, path), problems, counts)
                checked += 1
    print(f"{checked} types of ml_dtypes {ml_dtypes.__version__}")
    for why, count in counts.items():
        print(f"differ by intent: {why}: {count} inputs")
    for problem in problems:
        print(problem)
    return 1 if problems or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
