#!/usr/bin/env bash
# Records what a real zebra sends by FPM while static routes are added, changed and removed: the test data of
# switch/src/fpm/recorded. Run as root on a machine with FRR. The second argument is a further line of zebra's
# configuration, such as "no fpm use-next-hop-groups".
set -euo pipefail

out=$(realpath -m "$1")
option=${2:-}
here=$(dirname "$(realpath "$0")")
ns=kfpmrec
dir=$(mktemp -d)
ip netns add "$ns"
trap 'kill $(cat "$dir"/*.pid) 2>/dev/null || true; sleep 0.3; ip netns del "$ns"; rm -rf "$dir"' EXIT
inside=(ip netns exec "$ns")

"${inside[@]}" ip link set lo up
for port in 1 2 3; do
  "${inside[@]}" ip link add "p$port" type veth peer name "q$port"
  "${inside[@]}" ip link set "q$port" up
  "${inside[@]}" ip link set "p$port" up
  "${inside[@]}" ip addr add "10.0.$port.1/24" dev "p$port"
  "${inside[@]}" ip -6 addr add "fd00:$port::1/64" dev "p$port" nodad
done
printf 'fpm address 127.0.0.1 port 2620\n%s\n' "$option" >"$dir/zebra.conf"
: >"$dir/staticd.conf"
chown -R frr:frr "$dir"
chmod 755 "$dir"

"${inside[@]}" python3 "$here/record.py" "$out" 14 &
recorder=$!
sleep 0.3
"${inside[@]}" /usr/lib/frr/zebra -d -P 0 -M dplane_fpm_nl -f "$dir/zebra.conf" -i "$dir/zebra.pid" \
  -z "$dir/zserv.api" --vty_socket "$dir"
"${inside[@]}" /usr/lib/frr/staticd -d -P 0 -f "$dir/staticd.conf" -i "$dir/staticd.pid" \
  -z "$dir/zserv.api" --vty_socket "$dir"
sleep 4

configure() {
  local arguments=(-c 'configure terminal')
  for line in "$@"; do arguments+=(-c "$line"); done
  "${inside[@]}" vtysh --vty_socket "$dir" "${arguments[@]}"
  sleep 0.7
}
configure 'ip route 10.1.0.0/16 10.0.1.2'
configure 'ip route 10.2.0.0/16 10.0.1.2' 'ip route 10.2.0.0/16 10.0.2.2'
configure 'ip route 10.3.0.0/16 blackhole' 'ip route 10.4.0.0/16 reject'
configure 'ipv6 route fd01::/48 fd00:1::2' 'ipv6 route fd02::/48 fe80::2 p2'
configure 'ip route 10.5.0.0/16 p3'
configure 'no ip route 10.1.0.0/16 10.0.1.2'
configure 'ip route 10.2.0.0/16 10.0.3.2'
configure 'no ip route 10.2.0.0/16 10.0.1.2'
configure 'no ipv6 route fd01::/48 fd00:1::2'
wait "$recorder"
