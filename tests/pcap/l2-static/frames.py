from case import Case
from wire import BROADCAST, bridged

case = Case(__file__)

# The station of port 1 has sent nothing, and is not flooded.
unheard = bridged(2, 1, 1)
case.arrive(2, unheard)
case.forward(1, unheard)
# Port 2 checks sources.
case.arrive(2, *(bridged(1, 3, number) for number in range(2, 12)))

# Port 3 does not, but learns nothing of it.
forged = bridged(1, 2, 12, mac=BROADCAST)
case.arrive(3, forged)
case.forward(1, forged)
case.forward(2, forged)
there = bridged(3, 1, 13)
case.arrive(3, there)
case.forward(1, there)
