from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# What arrives with TTL 64, 63 and 62 has come by 0, 1 and 2 switches. 61 is one too many, and 65 is
# nobody's start: both are lossy from here on, which DSCP 0 says. DSCP 46 was lossy before.
ttls = (64, 63, 62, 61, 65)
frames = {ttl: [udp(1, 2, 10 * n + ttl, dscp=3, ttl=ttl) for n in range(3)] for ttl in ttls}
other = udp(1, 2, 999, dscp=46, ttl=62)
for ttl in ttls:
    case.arrive(1, *frames[ttl])
case.arrive(1, other)
# Class 2 is paused: frames that have come by one switch stay.
case.arrive(2, pfc({4: 0xFFFF}))
for ttl in (64, 62):
    case.forward(2, *(routed(frame, 2) for frame in frames[ttl]))
for ttl in (61, 65):
    case.forward(2, *(routed(frame, 2, dscp=0) for frame in frames[ttl]))
case.forward(2, routed(other, 2))
