#!/usr/bin/env bash
# Builds and tests Knotless against the DPDK of Debian 13 (24.11), in a root of that release below target/: the
# layout of DPDK's structs, the switch, and the pcap regressions through the real binary. Run as root. The root is
# made once (about 1 GB); it shares this machine's Rust toolchain and crate cache. Mounts are private to the
# script and end with it.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
root=$repository/target/debian13/root
mirror=${KNOTLESS_DEBIAN_MIRROR:-http://deb.debian.org/debian}
packages=libdpdk-dev,dpdk-dev,gcc,pkg-config,libclang-dev,libc6-dev,iproute2,python3-scapy,ca-certificates

if [ "$(id -u)" -ne 0 ]; then
  echo "debian13: only root can make the root directory and enter it" >&2
  exit 2
fi

"$repository/scripts/setup.sh" debootstrap

if [ ! -e "$root/.complete" ]; then
  echo "debian13: making a root of Debian 13 in target/debian13/root"
  rm -rf "$root"
  mkdir -p "$root"
  log=$repository/target/debian13/debootstrap.log
  if ! debootstrap --variant=minbase --include="$packages" trixie "$root" "$mirror" >"$log"; then
    tail -n 5 "$log" >&2
    exit 1
  fi
  touch "$root/.complete"
fi

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
  exec chroot "$root" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CARGO_HOME=/opt/cargo CARGO_TARGET_DIR=/src/target/debian13/build KNOTLESS_PROFILE=release bash -euo pipefail -c "
      cd /src
      echo \"debian13: DPDK \$(pkg-config --modversion libdpdk)\"
      cargo build --release --locked -p knotless-switch
      cargo test --locked -p knotless-dpdk-sys
      cargo test --locked -p knotless-tests --test pcap
    "
'
