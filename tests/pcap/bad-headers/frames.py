from case import Case
from wire import routed, udp, udp6, with_ip

case = Case(__file__)


def changed(frame, at, octet, sound=True):
    """The frame with another octet at offset `at` of its IP header, its checksum made sound."""
    out = bytearray(frame)
    out[14 + at] = octet
    return with_ip(bytes(out)) if sound else bytes(out)


good = udp(1, 2, 1, size=100)
six = udp6(1, 2, 2, size=100)
# Version 5 and 0; a header of 16 octets; a packet one octet shorter than a header.
case.arrive(1, changed(good, 0, 0x55, sound=False), changed(good, 0, 0x05, sound=False),
            changed(good, 0, 0x44), changed(changed(good, 2, 0), 3, 19))
# A header longer than its packet.
long_header = changed(changed(changed(good, 2, 0), 3, 40), 0, 0x4F)
case.arrive(1, long_header)
# A total length beyond the frame.
case.arrive(1, changed(changed(good, 2, 0), 3, 87), changed(good, 2, 0xFF))
# Checksums: one bit, zero, all ones.
case.arrive(1, changed(good, 11, good[25] ^ 1, sound=False),
            changed(changed(good, 10, 0, sound=False), 11, 0, sound=False))
# IPv6: version 4 behind the ethertype of IPv6, and a payload length beyond the frame.
case.arrive(1, changed(six, 0, 0x45, sound=False), changed(six, 5, 47, sound=False))
# A packet shorter than its frame has padding, and passes with it.
short = changed(changed(good, 2, 0), 3, 30)
case.arrive(1, short, good, six)
case.forward(2, routed(short, 2), routed(good, 2), routed(six, 2))
