from case import Case
from wire import pfc, routed, udp, udp6, with_ip

case = Case(__file__)


def marked(frame):
    out = bytearray(frame)
    if frame[14] >> 4 == 4:
        out[15] |= 3
    else:
        out[15] |= 0x30
    return with_ip(bytes(out))


# 18 frames of 1000 bytes; the depth before a frame leaves decides, and the mark is 10,000 bytes.
frames = [udp(1, 2, n, dscp=3, ecn=ecn, size=1000) for n, ecn in enumerate([2, 1, 0, 3] * 4)]
frames[5] = udp6(1, 2, 5, dscp=3, ecn=2, size=1000)
frames[6] = udp6(1, 2, 6, dscp=3, ecn=0, size=1000)
case.arrive(1, *frames)
between = [udp(2, 1, n) for n in range(63)]
case.arrive(2, pfc({3: 0xFFFF}), *between, pfc({3: 0}))
case.forward(1, *(routed(frame, 1) for frame in between))
for at, frame in enumerate(frames):
    out = routed(frame, 2)
    can_tell = (frame[15] & 3 if frame[14] >> 4 == 4 else frame[15] >> 4 & 3) != 0
    over = (len(frames) - at) * 1000 > 10_000
    case.forward(2, marked(out) if over and can_tell else out)
