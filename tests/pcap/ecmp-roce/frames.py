from case import Case
from flow_hash import FlowHash
from wire import routed, udp

case = Case(__file__)

hashes = FlowHash(seed=1)
used = set()
# 40 flows, each heard three times with frames of the others between.
for round_ in range(3):
    for flow in range(40):
        sport = 49152 + flow
        frame = udp(1, 2, round_ * 40 + flow, target="10.9.0.1", sport=sport)
        port = 2 + hashes.member(frame, 3)
        used.add(port)
        case.arrive(1, frame)
        case.forward(port, routed(frame, port))
assert used == {2, 3, 4}, "the flows use every gateway"
