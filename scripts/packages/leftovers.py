"""What is on a machine: files, contents of /etc, users and groups; and what a package left there."""

import re

from machine import Machine

# What stays by intent, and whose it is.
NAMED = {
    "records of apt and dpkg": r"/var/(lib|log|cache)/(apt|dpkg|debconf)/.*|/var/log/(dpkg|alternatives).log",
    "ld.so's and man's caches": r"/etc/ld\.so\.cache|/var/cache/(ldconfig|man)(/.*)?",
    # The accounts in them are compared one by one.
    "lists of users and their backups": r"/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?|/etc/\.pwd\.lock",
    "the group of rdma-core, which came with libdpdk": r"rdma:x:.*|/run/adduser",
    "systemd's state and journal": (
        r"/(run|var/log|var/lib|var/tmp|tmp)/(systemd|journal|log|credentials)(/.*|-private.*)?"
    ),
}


class Inventory:
    """All files by path; of those in /etc their contents; users and groups."""

    def __init__(self, machine: Machine):
        # Each file system by itself: the virtual ones are left out.
        files = machine.run(["find", "/", "/run", "-xdev", "-path", "/proc", "-prune", "-o", "-print"])
        hashes = machine.run(["find", "/etc", "-type", "f", "-exec", "sha256sum", "{}", "+"])
        self.paths = set(files.splitlines())
        self.contents = {line.split(maxsplit=1)[1]: line.split()[0] for line in hashes.splitlines()}
        self.accounts = set(machine.run(["getent", "passwd"]).splitlines())
        self.accounts |= set(machine.run(["getent", "group"]).splitlines())

    def news_since(self, before: "Inventory") -> list:
        """Paths, changed contents of /etc, and accounts that are new or gone."""
        changed = {path for path, digest in self.contents.items() if before.contents.get(path) not in (None, digest)}
        return sorted((self.paths ^ before.paths) | changed) + sorted(self.accounts ^ before.accounts)


def unnamed(news: list) -> list:
    """Those of `news` that nobody announced."""
    return [it for it in news if not any(re.fullmatch(pattern, it) for pattern in NAMED.values())]


def whose(news: list) -> dict:
    """How many of `news` belong to whom."""
    counts = {
        owner: sum(1 for it in news if re.fullmatch(pattern, it)) for owner, pattern in NAMED.items()
    }
    return {owner: count for owner, count in counts.items() if count}
