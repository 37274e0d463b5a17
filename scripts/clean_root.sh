#!/usr/bin/env bash
# Runs a command in a fresh clone of this repository, in a Debian with only git and the certificates
# installed, and prints its time. It tests the commands of the README.
#
#   scripts/clean_root.sh [--root DIR] [--base FILE] [--keep] [--] COMMAND [ARGUMENT...]
#     --root DIR    the folder of the Debian (default: a new temporary folder); must not exist
#     --base FILE   a .tar.zst of the bare Debian: reused if it exists, else made
#     --keep        keep DIR; otherwise it is removed at the end
#
# For example
#   scripts/clean_root.sh --base /var/tmp/bookworm.tar.zst scripts/quickstart.sh
#   scripts/clean_root.sh --base /var/tmp/bookworm.tar.zst scripts/test.sh
#
# Only commits are cloned. This machine's access to Debian's packages and PyPI (apt's sources, pip's
# configuration, proxies, certificates, name servers) is copied: that belongs to the network, not to
# the project. Needs root and the packages debootstrap and zstd.
set -euo pipefail

fail() {
  printf 'clean_root: error: %s\n' "$*" >&2
  exit 1
}
say() { printf 'clean_root: %s\n' "$*"; }

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly repository suite=bookworm mirror=http://deb.debian.org/debian
readonly clone=/tarsia

root="" base="" keep=0
while [[ $# -gt 0 ]]; do
  case "$1" in
    --root) root=${2:?--root wants a folder} && shift 2 ;;
    --base) base=${2:?--base wants a file} && shift 2 ;;
    --keep) keep=1 && shift ;;
    --) shift && break ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" && exit 0 ;;
    -*) fail "unknown option $1" ;;
    *) break ;;
  esac
done
[[ $# -gt 0 ]] || fail "name a command to run; see --help"
[[ $(id -u) -eq 0 ]] || fail "needs root"
command -v debootstrap >/dev/null || fail "needs debootstrap: apt-get install debootstrap"
[[ -n $root ]] || root=$(mktemp -d "${TMPDIR:-/tmp}/tarsia-root.XXXXXX")/debian
[[ ! -e $root ]] || fail "$root exists already"

remove_root() {
  if [[ $keep -eq 1 ]]; then
    say "left in $root"
  else
    rm -rf --one-file-system "$root"
  fi
}
trap remove_root EXIT

make_root() {
  mkdir -p "$root"
  if [[ -n $base && -f $base ]]; then
    say "unpacking $base"
    tar -C "$root" --zstd -xf "$base"
    return
  fi
  say "making a bare Debian ($suite)"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
    fail "debootstrap failed; see $root.log"
  rm -f "$root.log"
  if [[ -n $base ]]; then tar -C "$root" --zstd -cf "$base" .; fi
}

# Copies a file or folder of this machine to the same place in the root, if it is there.
copy_setting() {
  local path=$1
  [[ -e $path ]] || return 0
  mkdir -p "$root$(dirname "$path")"
  cp -rL --no-target-directory "$path" "$root$path" 2>/dev/null || true
}

copy_registry_settings() {
  local path
  rm -f "$root/etc/apt/sources.list"
  for path in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf /etc/apt/apt.conf.d \
    /etc/apt/auth.conf.d /etc/apt/keyrings /etc/apt/trusted.gpg.d /usr/share/keyrings \
    /etc/pip.conf /etc/resolv.conf /etc/hosts /usr/local/share/ca-certificates; do
    copy_setting "$path"
  done
  if [[ -d ${HOME:-}/.config/pip ]]; then
    mkdir -p "$root/root/.config" && cp -r "$HOME/.config/pip" "$root/root/.config/"
  fi
}

# NAME=VALUE of the variables that say how to reach a registry.
registry_environment() {
  env | grep -iE '^((http|https|ftp|all|no)_proxy|PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|CERT|DEFAULT_TIMEOUT)|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)=' || true
}

# Runs a command in the root with an environment of its own and its own view of mounts.
in_root() {
  local variables
  mapfile -t variables < <(registry_environment)
  unshare --mount --fork --pid bash -c '
    root=$1 && shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev" 2>/dev/null || true
    exec chroot "$root" "$@"' in_root "$root" \
    /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb CI="${CI:-}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${variables[@]}" "$@" \
    </dev/null
}

# What a user has who could clone the repository at all.
install_git() {
  in_root bash -c 'export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update && apt-get -qq install -y --no-install-recommends git ca-certificates &&
    update-ca-certificates' >"$root/var/log/install-git.log" 2>&1 ||
    fail "could not install git in the root: $(tail -5 "$root/var/log/install-git.log")"
}

make_root
copy_registry_settings
install_git
git clone -q --no-local "$repository" "$root$clone"
say "commit $(git -C "$root$clone" rev-parse --short HEAD), $(nproc) cores, running: $*"
start=$SECONDS
status=0
in_root bash -c 'cd "$1" && shift && exec "$@"' run "$clone" "$@" || status=$?
say "exit $status after $((SECONDS - start)) s"
exit "$status"
