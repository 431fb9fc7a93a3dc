#!/usr/bin/env bash
# Runs mdbook, which makes the book's HTML. Builds it once, for this checkout alone, where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$PWD/target/tools
if ! command -v mdbook >/dev/null && [ ! -x "$tools/bin/mdbook" ]; then
  echo "mdbook: building it, a few minutes, once"
  cargo install --quiet --locked --root "$tools" mdbook
fi
PATH=$tools/bin:$PATH exec mdbook "$@"
