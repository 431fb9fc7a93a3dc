from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, dscp=3 + n % 2, size=1000) for n in range(20)]
case.arrive(1, *frames)
between = [udp(2, 1, n) for n in range(63)]
case.arrive(2, pfc({3: 0xFFFF, 4: 0xFFFF}), *between, pfc({3: 0, 4: 0}))
case.forward(1, *(routed(frame, 1) for frame in between))
case.forward(2, *(routed(frame, 2) for frame in frames[1::2] + frames[::2]))
