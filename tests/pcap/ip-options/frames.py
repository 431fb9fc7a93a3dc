from case import Case
from scapy.layers.inet import IPOption_NOP, IPOption_RR, IPOption_Timestamp
from wire import IP, UDP, Ether, host_mac, host_v4, padded, port_mac, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, options=[IPOption_NOP()] * n, size=150) for n in (1, 4, 8, 39, 40)]
frames.append(udp(1, 2, 50, options=[IPOption_RR(routers=["0.0.0.0"] * 9)], size=150))
frames.append(udp(1, 2, 51, options=[IPOption_Timestamp(flg=0)], size=150))
# Options and nothing behind them.
frames.append(padded(Ether(src=host_mac(1), dst=port_mac(1))
                     / IP(src=host_v4(1), dst=host_v4(2), options=[IPOption_NOP()] * 40, proto=59)))
# A broken octet in the options breaks the header's checksum.
broken = bytearray(frames[2])
broken[35] ^= 0xFF
case.arrive(1, *frames, broken)
case.forward(2, *(routed(frame, 2) for frame in frames))
