#!/usr/bin/env bash
# Tests the packages of releases, by default of this machine's: test_package.sh [12|13]... Each is built, and that
# of the commit before, to upgrade from. KNOTLESS_PREVIOUS is another commit than the one before. Run as root.
set -euo pipefail

cd "$(dirname "$0")/.."
previous=$(git rev-parse --short "${KNOTLESS_PREVIOUS:-HEAD~1}")
releases=("$@")
if [ "${#releases[@]}" -eq 0 ]; then
  releases=("$(. /etc/os-release && echo "$VERSION_ID")")
fi
scripts/setup.sh debootstrap systemd-container lintian
for release in "${releases[@]}"; do
  KNOTLESS_COMMIT=$previous scripts/package.sh "$release"
  scripts/package.sh "$release"
  /usr/bin/python3 scripts/packages "$release" target/package/debian"$release"/"$previous"/knotless_*.deb
done
