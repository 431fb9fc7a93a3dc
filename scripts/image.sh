#!/usr/bin/env bash
# Builds the container image localhost/knotless from the package of Debian 12, and runs it once, as root. The base is
# a root of Debian 12 made here; KNOTLESS_BASE names another, such as docker.io/library/debian:bookworm-slim.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
cd "$repository"
folder=target/package/image
packages=(target/package/debian12/knotless_*.deb)
if [ ! -e "${packages[0]}" ]; then
  echo "image: there is no package for Debian 12; \`make package RELEASES=12\` builds it" >&2
  exit 2
fi
scripts/setup.sh buildah

# The base, from a root of the release.
make_base() {
  scripts/debian_root.sh make 12 "$repository/target/package/roots/base12" ca-certificates
  local container
  container=$(buildah from scratch)
  buildah add --quiet "$container" target/package/roots/base12 / >/dev/null
  buildah commit --quiet --rm "$container" localhost/knotless-base >/dev/null
  echo localhost/knotless-base
}

rm -rf "$folder"
mkdir -p "$folder"
cp "${packages[@]}" "$folder"
base=${KNOTLESS_BASE:-$(make_base | tail -n 1)}
echo "image: building localhost/knotless from $base"
buildah build --isolation chroot --pull-never --layers=false --build-arg "BASE=$base" --tag localhost/knotless \
  --file packaging/Containerfile "$folder" >"$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log" >&2; exit 1; }

echo "image: localhost/knotless is built: $(buildah images --format '{{.Size}}' localhost/knotless)"
exec /usr/bin/python3 scripts/packages/image.py
