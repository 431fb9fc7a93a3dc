from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# DSCP 26 and 48 select the classes that start with tags 1 and 2, as do these tags' own DSCPs. A tag
# with which no class starts, 3, is that of the first class.
frames = [udp(1, 2, 10 * n + at, dscp=dscp)
          for n in range(5) for at, dscp in enumerate((26, 48, 2, 3, 0))]
case.arrive(1, *frames)
case.arrive(2, pfc({3: 0xFFFF}))
leaves = {48: 2, 2: 2, 0: 0}
case.forward(2, *(routed(frame, 2, dscp=leaves[frame[15] >> 2])
                  for frame in frames if frame[15] >> 2 in leaves))
