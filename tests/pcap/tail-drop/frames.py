from case import Case
from wire import routed, udp

case = Case(__file__)

# All of them come in one turn, before the paced port sends the first.
frames = [udp(1, 2, n, size=1000) for n in range(30)]
case.arrive(1, *frames)
case.forward(2, *(routed(frame, 2) for frame in frames[:10]))
