from case import Case
from wire import routed, udp

case = Case(__file__)

frames = [udp(1, 2 + n % 2, n, size=1000) for n in range(20)]
case.arrive(1, *frames)
for port in (2, 3):
    case.forward(port, *(routed(frame, port) for frame in frames[port - 2:6:2]))
