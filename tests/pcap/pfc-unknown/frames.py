from case import Case
from wire import host_mac, mac_control, pfc, port_mac, routed, udp

case = Case(__file__)

frame = udp(1, 2, 1, dscp=3)
case.arrive(1, frame)
case.arrive(2, mac_control(0x0102, b"\xff" * 18), mac_control(0x7777), mac_control(0))
case.arrive(2, pfc({3: 0xFFFF}, destination=port_mac(2)),
            pfc({3: 0xFFFF}, destination="01:80:c2:00:00:0e"))
case.forward(2, routed(frame, 2))
