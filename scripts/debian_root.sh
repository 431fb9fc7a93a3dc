#!/usr/bin/env bash
# Roots of Debian releases, for builds and tests against what a release has. Run as root; mounts are private to the
# command that is run and end with it.
#
#   debian_root.sh make 12|13 ROOT PACKAGES   makes ROOT with PACKAGES (a,b,c), once; `build` stands for what builds
#                                             and tests Knotless, and packs it
#   debian_root.sh enter ROOT COMMAND...      runs COMMAND in ROOT, with this checkout at /src, the Rust toolchain,
#                                             and the folder of crates, in a clean environment
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
# What `build` stands for.
build=libdpdk-dev,dpdk-dev,build-essential,pkg-config,libclang-dev,iproute2,python3-scapy,ca-certificates
build+=,debhelper,protobuf-compiler,libprotobuf-dev
mirror=${KNOTLESS_DEBIAN_MIRROR:-http://deb.debian.org/debian}

if [ "$(id -u)" -ne 0 ]; then
  echo "debian_root: only root can make a root directory and enter it" >&2
  exit 2
fi

codename() {
  case $1 in
  12) echo bookworm ;;
  13) echo trixie ;;
  *)
    echo "debian_root: there is no release $1 here; say 12 or 13" >&2
    exit 2
    ;;
  esac
}

make_root() {
  local release=$1 root=$2 packages=$3 name
  name=$(codename "$release")
  if [ "$packages" = build ]; then
    packages=$build
  fi
  if [ "$(cat "$root.packages" 2>/dev/null)" = "$packages" ]; then
    return
  fi
  "$repository/scripts/setup.sh" debootstrap
  echo "debian_root: making a root of Debian $release in ${root#"$repository/"}"
  rm -rf "$root" "$root.packages"
  mkdir -p "$root"
  if ! debootstrap --variant=minbase --include="$packages" "$name" "$root" "$mirror" >"$root.log"; then
    tail -n 5 "$root.log" >&2
    exit 1
  fi
  echo "$packages" >"$root.packages"
}

enter_root() {
  root=$1
  shift
  sysroot=$(rustc --print sysroot)
  cargo_home=${CARGO_HOME:-$HOME/.cargo}
  export root repository sysroot cargo_home
  # Mounts are seen by this command and its children only.
  exec unshare --mount --propagation private bash -euo pipefail -c '
    mkdir -p "$root/src" "$root/opt/rust" "$root/opt/cargo"
    mount --rbind "$repository" "$root/src"
    mount --bind "$sysroot" "$root/opt/rust"
    mount --bind "$cargo_home" "$root/opt/cargo"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    exec chroot "$root" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" CARGO_HOME=/opt/cargo \
      PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
  ' enter "$@"
}

case ${1:-} in
make) make_root "$2" "$3" "$4" ;;
enter) enter_root "${@:2}" ;;
*)
  echo "debian_root: say make RELEASE ROOT PACKAGES, or enter ROOT COMMAND" >&2
  exit 2
  ;;
esac
