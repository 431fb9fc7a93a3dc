from case import Case
from wire import routed, udp, udp6

case = Case(__file__)

WAYS = {
    2: ["172.16.0.0", "172.16.4.255", "172.16.6.0", "172.31.255.255"],
    3: ["172.16.5.0", "172.16.5.76", "172.16.5.78", "172.16.5.255"],
    4: ["172.16.5.77"],
}
WAYS_V6 = {
    2: ["2001:db8::", "2001:db8:4:ffff:ffff:ffff:ffff:ffff", "2001:db8:6::",
        "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
    3: ["2001:db8:5::", "2001:db8:5::76", "2001:db8:5::78",
        "2001:db8:5:ffff:ffff:ffff:ffff:ffff"],
    4: ["2001:db8:5::77"],
}
for make, ways in ((udp, WAYS), (udp6, WAYS_V6)):
    for port, targets in ways.items():
        for number, target in enumerate(targets):
            frame = make(1, port, number, target=target)
            case.arrive(1, frame)
            case.forward(port, routed(frame, port))
