#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing, and nothing if none is.
#   tools/packages.sh         what `make run` and `make test` need
#   tools/packages.sh checks  also what formatting, linting, fuzzing and benchmarks need
# Exit codes: 0 all there, 5 something is lacking and cannot be installed, 2 wrong argument.
set -eu

build="build-essential cmake ninja-build ccache python3 libgtest-dev libboost-context-dev
  libcli11-dev libfmt-dev libhwy-dev nlohmann-json3-dev"
checks="git iproute2 libucx-dev clang clang-format-14 clang-tidy-14 libclang-rt-14-dev
  libbenchmark-dev libopenblas0-pthread"

case "${1:-}" in
  "") wanted="$build" ;;
  checks) wanted="$build $checks" ;;
  *)
    echo "packages: argument '$1' is unknown; use none or 'checks'" >&2
    exit 2
    ;;
esac

one_line() {
  echo $*
}

fail() {
  echo "packages: $1; install by hand: $(one_line $missing)" >&2
  exit 5
}

if ! command -v dpkg-query >/dev/null 2>&1; then
  missing="$wanted"
  fail "this system has no dpkg, so what is missing cannot be told or installed"
fi

installed=$(dpkg-query -W -f ' ${Package}=${db:Status-Status} ')
missing=""
for package in $wanted; do
  case "$installed" in
    *" $package=installed "*) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null 2>&1 || fail "this system has no apt-get"
root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || fail "neither root nor sudo"
  sudo -n true 2>/dev/null || [ -t 0 ] || fail "sudo asks for a password and there is no terminal"
  root="sudo"
fi

echo "packages: installing $(one_line $missing)"
$root apt-get update -q || fail "apt-get update failed"
$root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
  $missing || fail "apt-get install failed"
