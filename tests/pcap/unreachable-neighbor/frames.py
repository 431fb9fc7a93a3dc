from case import Case
from wire import host_v4, udp

case = Case(__file__)

waiting = [udp(1, 2, n) for n in range(3)]
case.arrive(1, *waiting)
for _ in range(3):
    case.arp_request(2, host_v4(2))
for frame in waiting:
    case.error(1, frame, 3, 1)
