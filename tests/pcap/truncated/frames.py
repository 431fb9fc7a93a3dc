from case import Case
from wire import routed, udp, udp6

case = Case(__file__)

four, six = udp(1, 2, 1, size=100), udp6(1, 2, 2, size=100)
tagged = udp(1, 2, 3, size=100, tags=[(0, 3), (0, 4)])
# Ethernet, the IP header, and one octet less than its length says.
case.arrive(1, *(four[:length] for length in (1, 6, 12, 13, 14, 15, 33, 34, 99)))
case.arrive(1, *(six[:length] for length in (14, 21, 53, 54, 99)))
case.arrive(1, *(tagged[:length] for length in (16, 17, 18, 20, 21, 22, 41, 107)))
case.arrive(1, four, six)
case.forward(2, routed(four, 2), routed(six, 2))
