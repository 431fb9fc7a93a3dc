from case import Case
from wire import udp, udp6

case = Case(__file__)

four = udp(1, 2, 1, target="192.0.2.1", size=200)
six = udp6(1, 2, 2, target="2001:db8::1", size=1514)
short = udp6(1, 2, 3, target="2001:db8::2", size=62)
case.arrive(1, four, six, short)
case.error(1, four, 3, 0)
case.error(1, six, 1, 0)
case.error(1, short, 1, 0)
