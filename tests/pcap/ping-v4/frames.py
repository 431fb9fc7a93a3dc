from case import Case
from wire import ICMP, IP, Ether, host_mac, host_v4, padded, port_mac

case = Case(__file__)

link = Ether(src=host_mac(1), dst=port_mac(1))


def echo(target, kind, sequence, data, **ip):
    return IP(src=host_v4(1), dst=target, **ip) / ICMP(type=kind, id=0x1234, seq=sequence) / data


# The near and the far address; the last hop is enough to reach the switch itself.
asked = [("10.0.1.254", 1, b"abcd" * 14, 64, 0), ("10.0.2.254", 2, b"", 64, 0),
         ("10.0.1.254", 3, b"x" * 1472, 1, 26)]
for target, sequence, data, ttl, dscp in asked:
    request = echo(target, 8, sequence, data, ttl=ttl, tos=dscp << 2, id=sequence)
    case.arrive(1, padded(link / request))
    answer = IP(src=target, dst=host_v4(1), ttl=64, tos=dscp << 2, id=0, flags="DF")
    case.say(1, Ether(src=port_mac(1), dst=host_mac(1)) / answer
             / ICMP(type=0, id=0x1234, seq=sequence) / data)

wrong_sum = echo("10.0.1.254", 8, 4, b"abcd")
wrong_sum[ICMP].chksum = 0xBEEF
case.arrive(1, padded(link / wrong_sum))
case.arrive(1, padded(link / echo("10.0.1.254", 8, 5, b"part", flags="MF")))
case.arrive(1, padded(link / echo("10.0.1.254", 0, 6, b"an answer nobody asked for")))
