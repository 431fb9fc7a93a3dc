from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, dscp=3 + n % 2) for n in range(4)]
case.arrive(1, *frames)
three, four = pfc({3: 0xFFFF}), pfc({4: 0xFFFF})
case.arrive(2, *(three[:length] for length in (14, 15, 16, 17, 18, 24, 33)), four[:34])
case.forward(2, *(routed(frame, 2) for frame in frames[::2]))
