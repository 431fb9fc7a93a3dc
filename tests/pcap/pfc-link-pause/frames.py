from case import Case
from wire import mac_control, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, dscp=n) for n in range(5)]
case.arrive(1, *frames)
case.arrive(2, mac_control(0x0001, b"\xff\xff"), mac_control(0x0001, b"\x00\x00"))
case.forward(2, *(routed(frame, 2) for frame in frames))
