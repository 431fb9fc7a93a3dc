from case import Case
from wire import Ether, Raw, host_mac, padded

case = Case(__file__)

for last in range(0x10):
    if last == 1:
        continue  # MAC control, which has cases of its own.
    ethertype = 0x88CC if last == 0x0E else 0x88B5
    case.arrive(1, padded(Ether(src=host_mac(1), dst=f"01:80:c2:00:00:{last:02x}", type=ethertype)
                          / Raw(b"knotless")))
# The next address is an ordinary group.
group = padded(Ether(src=host_mac(1), dst="01:80:c2:00:00:10", type=0x88B5) / Raw(b"knotless"))
case.arrive(1, group)
case.forward(2, group)
