from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

three = [udp(1, 2, n, dscp=3, size=1000) for n in range(24)]
four = [udp(1, 2, 100 + n, dscp=4, size=1000) for n in range(8)]
case.arrive(1, *three, *four)
between = [udp(2, 1, n) for n in range(63)]
case.arrive(2, pfc({3: 0xFFFF, 4: 0xFFFF}), *between, pfc({3: 0, 4: 0}))
case.forward(1, *(routed(frame, 1) for frame in between))
# One frame is a quantum, so that a round is three frames of class 3 and one of class 4.
order = []
for turn in range(8):
    order += three[3 * turn:3 * turn + 3] + four[turn:turn + 1]
case.forward(2, *(routed(frame, 2) for frame in order))
