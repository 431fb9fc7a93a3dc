"""Who waits for whom: from what each switch tells of itself to the cycle of all."""

from ring import NAMES, after, before, host


def forward(waits: dict, name: str) -> dict | None:
    """What waits in a switch for the next, if anything does."""
    return next((wait for wait in waits[name] if wait["name"] == f"to-{after(name)}"), None)


def holds_up(waits: dict, name: str) -> bool:
    """Whether a switch pauses the one before it because of frames that wait for the next."""
    wait = forward(waits, name)
    origins = wait["origins"] if wait else []
    return any(origin["name"] == f"from-{before(name)}" and origin["paused"] for origin in origins)


def cycle(waits: dict) -> list:
    """The switches that wait for each other in a ring; empty if there is no such ring."""
    return list(NAMES) if all(holds_up(waits, name) for name in NAMES) else []


def sentence(waits: dict, name: str) -> str:
    """What a switch of the cycle waits for, and whom it keeps waiting."""
    wait = forward(waits, name)
    hosts = [origin["name"] for origin in wait["origins"] if origin["name"] == host(name)]
    behind = " and ".join([before(name)] + hosts)
    return (f"{name} waits for {after(name)}: {wait['frames']} frames, for "
            f"{wait['paused_for_ns'] / 1e9:.1f} s; meanwhile {name} pauses {behind}")
