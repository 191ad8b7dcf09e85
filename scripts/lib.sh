# shellcheck shell=bash
# Shared by the scripts; source it. Leaves the shell in the top folder of the repository.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Prints the comment block at the top of the calling script, which is its manual.
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "scripts/$(basename "$0")"
  exit 0
}

# configure PRESET [cmake option...]: tells CMake's own story only when it goes wrong.
configure() {
  local log
  log=$(mktemp)
  if ! cmake --preset "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "configuring preset $1 failed"
  fi
  rm -f "$log"
}

# build PRESET [cmake --build option...]: on all processors.
build() { cmake --build --preset "$1" --parallel "$(nproc)" "${@:2}"; }
