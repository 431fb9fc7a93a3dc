#!/usr/bin/env bash
# Says in one line, and with status 2, what a target lacks that makes network namespaces and taps:
# privileges.sh TARGET. With KNOTLESS_SKIP_ROOT=1 such tests are left out instead, and this says so.
set -euo pipefail

missing=
if [ "$(id -u)" -ne 0 ]; then
  missing="network namespaces and taps need root"
elif [ ! -e /dev/net/tun ]; then
  missing="there is no /dev/net/tun for taps (modprobe tun, or map it in)"
fi
if [ -n "$missing" ]; then
  if [ "${KNOTLESS_SKIP_ROOT:-}" = 1 ]; then
    echo "make $1: $missing; the tests that need it are skipped, as KNOTLESS_SKIP_ROOT=1 says" >&2
  else
    echo "make $1: $missing; run it as root, set KNOTLESS_SKIP_ROOT=1 to skip the tests that need it," \
      "or \`make check\`" >&2
    exit 2
  fi
fi
