#!/usr/bin/env python3
"""Runs clang-tidy on the C++ sources that changed last, with the checks of .clang-tidy.

Without FILE it takes the files that differ from the base commit, those with the most changes first.
clang-tidy needs the compile commands of clang: `cmake --preset tidy` writes them to build/tidy.

exit status: 0 nothing found, 1 something found, 2 bad usage
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = re.search(r"^CLANG_VERSION=(\S+)", (ROOT / "versions.env").read_text(), re.M).group(1)
DEFAULT_COMMITS = 20


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True,
                          text=True).stdout


def default_base():
    """The commit 20 before this one, or the first one."""
    return git("rev-list", f"--max-count={DEFAULT_COMMITS + 1}", "HEAD").split()[-1]


def changed_since(base):
    """The files that differ from a commit, the most changed ones first; moved files do not count."""
    found = []
    for line in git("diff", "--numstat", "--find-renames", "--diff-filter=AM", base).splitlines():
        added, removed, name = line.split("\t", 2)
        if name.endswith(".cc") and added != "-":
            found.append((int(added) + int(removed), name))
    return [name for _, name in sorted(found, key=lambda item: (-item[0], item[1]))]


def compiled_files(build):
    """The sources in the repository that the build compiles, by path from the root."""
    path = build / "compile_commands.json"
    if not path.is_file():
        sys.exit(f"tidy: error: no {path}; run `cmake --preset tidy`")
    paths = (pathlib.Path(entry["file"]) for entry in json.loads(path.read_text()))
    return sorted({p.relative_to(ROOT).as_posix() for p in paths
                   if p.is_relative_to(ROOT) and not p.is_relative_to(build)})


def check(name, build):
    """The output of clang-tidy for a file; "" if there is none."""
    done = subprocess.run([f"clang-tidy-{VERSION}", "--quiet", "-p", str(build), name], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or done.stderr.strip() or f"{name}: clang-tidy failed"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="a source to check")
    parser.add_argument("--base", metavar="COMMIT",
                        help="the base commit (default: 20 commits ago, or the first one)")
    parser.add_argument("--most", type=int, default=20, metavar="N",
                        help="check at most this many files (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="check every source")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "tidy", metavar="DIR",
                        help="the build folder with the compile commands")
    parser.add_argument("-j", "--jobs", type=int, default=2, metavar="N",
                        help="processes at a time (default: %(default)s)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    build = arguments.build.resolve()
    compiled = set(compiled_files(build))
    wanted = arguments.files or (
        sorted(compiled) if arguments.all else changed_since(arguments.base or default_base()))
    names = [name for name in wanted if name in compiled]
    if not arguments.all and not arguments.files:
        names = names[:arguments.most]
    found = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for text in pool.map(lambda name: check(name, build), names):
            if text:
                found += 1
                print(text, flush=True)
    print(f"tidy: {len(names)} files, {found} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
