"""The rules that switches really have, sampled and verified for as long as the script runs."""

import json
import subprocess
import threading
import time

from fabric import NAMES, Fabric, empty_folder

# A switch that is stopped does not answer, and has what it had.
ANSWER_S = 2.0


def rule_file(name: str, rules: dict) -> dict:
    """From what `ctl rules` says to a rule file."""
    def tag(entry: dict):
        exact = entry["mask"] == 63
        return entry["tag"] if exact else {"value": entry["tag"], "mask": entry["mask"]}
    return {
        "switch": name, "ports": 3, "lossy_tag": rules["lossy_tag"],
        "initial_tag": rules["initial_tag"],
        "priorities": {str(row["tag"]): row["priority"] for row in rules["tags"]},
        "entries": [{"tag": tag(entry), "in": entry["in"], "out": entry["out"],
                     "new_tag": entry["new_tag"]} for entry in rules["entries"]],
    }


class Samples:
    """A thread that asks every switch for its rules, and has `knotless verify` judge all of them."""

    def __init__(self, fabric: Fabric, network):
        self.fabric, self.network = fabric, network
        self.last, self.count, self.different, self.bad = {}, 0, set(), []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        before = None
        while not self.is_over.is_set():
            hashes = self.collect()
            # Switches are asked at different moments. What two looks in a row agree on was there at one moment:
            # after the first look's last answer and before the second look's first one.
            if hashes is not None and hashes == before:
                self.judge(hashes)
            before = hashes
            time.sleep(0.02)

    def collect(self):
        """The hashes of all rules; `None` if one is not known: its switch runs and does not answer."""
        lab = self.fabric.lab
        asked = {}
        for name in NAMES:
            socket = self.fabric.switches[name].socket
            command = [lab.knotless, "ctl", "--socket", socket, "rules", "--json"]
            asked[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        until = time.monotonic() + ANSWER_S
        is_known = True
        for name, process in asked.items():
            try:
                said, _ = process.communicate(timeout=max(until - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            if process.returncode == 0:
                self.last[name] = json.loads(said)
            else:
                is_known &= name in self.last and self.fabric.switches[name].is_stopped()
        return tuple(self.last[name]["hash"] for name in NAMES) if is_known else None

    def judge(self, hashes: tuple):
        """Has the rules of the last look verified."""
        lab = self.fabric.lab
        folder = empty_folder(lab.folder / "sampled")
        for name, rules in self.last.items():
            (folder / f"{name}.json").write_text(json.dumps(rule_file(name, rules)))
        command = [lab.knotless, "verify", self.network, "--rules", folder, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.count += 1
        self.different.add(hashes)
        if done.returncode != 0:
            self.bad.append((done.stdout + done.stderr).strip())

    def stop(self):
        self.is_over.set()
        self.thread.join()
