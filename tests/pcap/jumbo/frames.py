from case import Case
from wire import routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, size=size) for n, size in enumerate((2047, 2048, 2049, 4096, 9000, 9014))]
case.arrive(1, *frames)
case.forward(2, *(routed(frame, 2) for frame in frames))
too_big = udp(1, 3, 9, size=9014)
case.arrive(1, too_big)
case.error(1, too_big, 3, 4, mtu=1500)
