from case import Case
from flow_hash import FlowHash
from wire import IP, UDP, Ether, fragment, host_mac, host_v4, port_mac, routed

case = Case(__file__)

hashes = FlowHash(seed=1)
for number in range(8):
    datagram = IP(src=host_v4(1, 1 + number), dst="10.9.0.1", id=number) / UDP(sport=4000, dport=9)
    ways = set()
    for part in fragment(datagram / (bytes([number]) * 2000), fragsize=800):
        frame = bytes(Ether(src=host_mac(1), dst=port_mac(1)) / part)
        port = 2 + hashes.member(frame, 3)
        ways.add(port)
        case.arrive(1, frame)
        case.forward(port, routed(frame, port))
    assert len(ways) == 1
