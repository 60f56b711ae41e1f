#!/usr/bin/env bash
# Runs the tests: ./test.sh [fast|real|all]
#
# fast   unit, snapshot and end-to-end tests on one real Python kernel
# real   every rule and the examples on the real current libraries
#
# Needs Rust and Python 3 with venv; brings everything else from the package index into target/python/.
set -euo pipefail
cd "$(dirname "$0")"
stage="${1:-all}"
python="${PYTHON:-python3}"
envs="$PWD/target/python"

# environment NAME STAMP PACKAGE...: a virtual environment, built once for each list of packages.
environment() {
  local folder="$envs/$1"
  shift
  local stamp
  stamp="$(printf '%s\n' "$@" | cksum)"
  if [ "$(cat "$folder/stamp" 2>/dev/null || true)" != "$stamp" ]; then
    mkdir -p "$envs"
    "$python" -m venv --clear "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    "$folder/bin/python" -m compileall -q "$folder/lib" >/dev/null || true
    printf '%s' "$stamp" >"$folder/stamp"
  fi
}

if command -v cargo-nextest >/dev/null 2>&1; then
  run() { cargo nextest run --workspace --no-fail-fast "$@"; }
else
  run() { cargo test --workspace --no-fail-fast "$@"; }
fi

environment kernel ipykernel
export MLEM_TEST_PYTHON="$envs/kernel/bin/python"

if [ "$stage" = fast ] || [ "$stage" = all ]; then
  run
fi
if [ "$stage" = real ] || [ "$stage" = all ]; then
  mapfile -t packages < <(grep -v '^#' requirements-real.txt)
  environment real "${packages[@]}"
  export MLEM_REAL_PYTHON="$envs/real/bin/python"
  run --features real-library
fi
