from case import Case
from wire import routed, udp

case = Case(__file__)

# The buffer holds all of them at once, should one worker not get a core for a while.
there = [udp(1, 2, n, size=60 + n) for n in range(400)]
back = [udp(2, 1, n, size=459 - n) for n in range(400)]
case.arrive(1, *there)
case.arrive(2, *back)
case.forward(2, *(routed(frame, 2) for frame in there))
case.forward(1, *(routed(frame, 1) for frame in back))
