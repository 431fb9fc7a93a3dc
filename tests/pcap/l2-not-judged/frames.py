from case import Case
from wire import Ether, Raw, bridged, host_mac

case = Case(__file__)

good = bridged(1, 2, 1, size=100)
bad_checksum, bad_version, bad_length = bytearray(good), bytearray(good), bytearray(good)
bad_checksum[25] ^= 1
bad_version[14] = 0x65
bad_length[16:18] = b"\x00\x10"
carried = [bytes(frame) for frame in (bad_checksum, bad_version, bad_length)]
# An IP header that ends with the frame, and an IP packet that should be longer.
carried += [good[:20], good[:50], good[:14]]
carried += [bytes(Ether(src=host_mac(1), dst=host_mac(2), type=kind) / Raw(b"knotless" * 8))
            for kind in (0x88B5, 0x8847, 0x0003, 0xFFFF)]
carried.append(bridged(1, 2, 9, size=1522))
# An Ethernet header that is not whole, and a frame longer than the port carries.
case.arrive(1, good[:13], bridged(1, 2, 10, size=1523), *carried)
case.forward(2, *carried)
