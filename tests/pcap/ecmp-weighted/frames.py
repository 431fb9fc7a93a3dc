from case import Case
from flow_hash import FlowHash
from wire import routed, udp

case = Case(__file__)

hashes = FlowHash(seed=1)
sent = {2: 0, 3: 0}
for flow in range(60):
    frame = udp(1, 2, flow, target="10.9.0.1", sport=49152 + flow)
    port = (2, 3, 3)[hashes.member(frame, 3)]
    sent[port] += 1
    case.arrive(1, frame)
    case.forward(port, routed(frame, port))
assert sent[3] > 1.5 * sent[2], sent
