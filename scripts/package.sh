#!/usr/bin/env bash
# Builds the Debian package: package.sh [12|13]..., by default for this machine's release. For another release it
# builds in a root of that release, as root. Packages are put into target/package/debianRELEASE.
#
# KNOTLESS_COMMIT builds another commit's package, into target/package/debianRELEASE/COMMIT; KNOTLESS_PROFILE=dev
# builds without optimization.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
cd "$repository"
own_release=$(. /etc/os-release && echo "$VERSION_ID")
profile=${KNOTLESS_PROFILE:-release}
commit=$(git rev-parse --short "${KNOTLESS_COMMIT:-HEAD}")

# The version of the package: that of Cargo.toml for a release, else with the commit, later than
# that release. Commits of one second are told apart by how many come before.
version() {
  local of_cargo unreleased time
  of_cargo=$(git show "$commit:Cargo.toml" | sed -n 's/^version = "\(.*\)"/\1/p' | head -n 1)
  unreleased=$(git show "$commit:CHANGELOG.md" | sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' | grep -c '^- ' || true)
  if [ "$unreleased" -gt 0 ]; then
    time=$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd "$commit")
    of_cargo+=+git$time.$(git rev-list --count "$commit").$commit
  fi
  echo "$of_cargo-1~deb$1"
}

changelog() {
  local maintainer
  echo "knotless ($(version "$1")) unstable; urgency=medium"
  echo
  echo "  * Build of commit $commit; changelog.gz says what is new."
  echo
  maintainer=$(sed -n 's/^Maintainer: //p' packaging/debian/control)
  echo " -- $maintainer  $(TZ=UTC git log -1 --date=rfc --format=%cd "$commit")"
}

# The sources of another commit, with this commit's packaging.
sources() {
  if [ -z "${KNOTLESS_COMMIT:-}" ]; then
    echo .
    return
  fi
  local folder=target/package/commit
  rm -rf "$folder"
  mkdir -p "$folder"
  # With the present time on each file: cargo compares times.
  git archive "$commit" | tar -xm -C "$folder"
  echo "$folder"
}

# Builds the package with the tools of the release that this runs in. `$1` is the repository there.
build() {
  local seen_at=$1 release=$2 from=$3 target=$4
  local folder=target/package/debian$release/build/knotless
  rm -rf "${folder%/*}"
  mkdir -p "$folder"
  cp -a packaging/debian "$folder/debian"
  changelog "$release" >"$folder/debian/changelog"
  local command=(
    env "KNOTLESS_SOURCE=$seen_at/$from" "CARGO_TARGET_DIR=$seen_at/$target" "KNOTLESS_PROFILE=$profile"
    sh -c "cd '$seen_at/$folder' && dpkg-buildpackage -b -us -uc >../build.log 2>&1"
  )
  echo "package: building $(version "$release") for Debian $release ($profile); log: ${folder%/*}/build.log"
  if ! "${enter[@]}" "${command[@]}"; then
    tail -n 20 "${folder%/*}/build.log" >&2
    exit 1
  fi
}

package() {
  local release=$1 from target place
  from=$(sources)
  place=target/package/debian$release${KNOTLESS_COMMIT:+/$commit}
  if [ "$release" = "$own_release" ]; then
    scripts/setup.sh debhelper
    target=target${KNOTLESS_COMMIT:+/package/commit-target}
    # debhelper gives the build a home of its own.
    enter=(env "CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}" "RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}")
    build "$repository" "$release" "$from" "$target"
  else
    local root=$repository/target/debian$release/root
    target=target/debian$release/build${KNOTLESS_COMMIT:+-commit}
    scripts/debian_root.sh make "$release" "$root" build
    enter=(scripts/debian_root.sh enter "$root")
    build /src "$release" "$from" "$target"
  fi
  mkdir -p "$place"
  rm -f "$place"/*.deb
  mv "target/package/debian$release/build"/*.deb "$place"
  ls "$place"/knotless_*.deb
}

releases=("$@")
if [ "${#releases[@]}" -eq 0 ]; then
  releases=("$own_release")
fi
for release in "${releases[@]}"; do
  package "$release"
done
