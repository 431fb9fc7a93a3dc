"""The flow hash, written again from its description in dataplane/src/fib/hash.rs.

Its values are part of what a switch does: which gateway a flow takes must not change from one
release to the next, so they are computed here a second time, with Python's unbounded integers.
"""

from wire import l3_offset

DIGITS = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)
LOW = (1 << 64) - 1
WITH_PORTS = (6, 17, 132)


def fold(a, b):
    product = a * b
    return product >> 64 ^ product & LOW


class FlowHash:
    """The hash of the switch with this seed."""

    def __init__(self, seed):
        first = fold(seed ^ DIGITS[0], DIGITS[1])
        second = fold(first ^ DIGITS[2], seed ^ DIGITS[3])
        self.keys = (first, second, fold(second ^ DIGITS[0], first ^ DIGITS[3]))

    def member(self, frame, members):
        """Which of `members` gateways the flow of an untagged or tagged IP frame takes, from 0."""
        return self.of(frame) * members >> 32

    def of(self, frame):
        ip = frame[l3_offset(frame):]
        if ip[0] >> 4 == 4:
            is_fragment = int.from_bytes(ip[6:8], "big") & 0x3FFF
            l4 = b"" if is_fragment else ip[(ip[0] & 0x0F) * 4:]
            addresses = int.from_bytes(ip[12:20], "big")
            transport = self._transport(ip[9], l4)
            return self._finish(fold(addresses ^ self.keys[0], transport ^ self.keys[1]))
        words = [int.from_bytes(ip[at:at + 8], "big") for at in (8, 16, 24, 32)]
        source = fold(words[0] ^ self.keys[0], words[1] ^ self.keys[1])
        target = fold(words[2] ^ self.keys[1], words[3] ^ self.keys[2])
        transport = self._transport(ip[6], ip[40:])
        return self._finish(fold(source ^ transport ^ self.keys[2], target ^ self.keys[0]))

    def _finish(self, mixed):
        return fold(mixed ^ DIGITS[0], self.keys[2]) >> 32

    @staticmethod
    def _transport(protocol, l4):
        ports = int.from_bytes(l4[:4], "big") if protocol in WITH_PORTS and len(l4) >= 4 else 0
        return protocol << 32 | ports
