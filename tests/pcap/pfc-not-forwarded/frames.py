from case import Case
from wire import BROADCAST, bridged, host_mac, mac_control, pfc

case = Case(__file__)

case.arrive(1, pfc({3: 1}), pfc({0: 1}), mac_control(0x0001, b"\x00\x01"), mac_control(0x4242),
            pfc({3: 1}, tags=[(1, 3)]), pfc({3: 1})[:20], pfc({3: 1}, destination=host_mac(2)),
            pfc({3: 1}, destination=BROADCAST))
# Another ethertype to the same address stays, too; the next frame passes.
reserved = bytearray(bridged(1, 2, 1, mac="01:80:c2:00:00:01"))
passes = bridged(1, 2, 2, dscp=3)
case.arrive(1, reserved, passes)
case.forward(2, passes)
case.forward(3, passes)
