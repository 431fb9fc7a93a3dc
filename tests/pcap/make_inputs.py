#!/usr/bin/env python3
"""Makes the pcap files of the cases beside this file, each from its frames.py, with scapy.

    make_inputs.py [CASE ...]           write in-PORT.pcap and out-PORT.pcap
    make_inputs.py --check [CASE ...]   write nothing; exit 1 if a file is not what scapy makes

What must leave the switch is computed here, without the switch: `make record-pcap` may write
out-PORT.pcap too, and --check then tells whether scapy agrees.
"""

import argparse
import pathlib
import runpy
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Little-endian, microseconds, version 2.4, whole frames, Ethernet.
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


def pcap(frames):
    """A pcap file. Its times count frames, so that a reader shows them in order."""
    records = (struct.pack("<IIII", 0, at, len(frame), len(frame)) + frame
               for at, frame in enumerate(frames))
    return PCAP_HEADER + b"".join(records)


def parse(data):
    """The frames of such a file."""
    frames, at = [], len(PCAP_HEADER)
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


def differences(name, path, frames):
    """What is wrong with the file at `path`, which should hold `frames`."""
    if not path.exists():
        return [f"{name}: missing; scapy makes {len(frames)} frames"]
    there = parse(path.read_bytes())
    lines = []
    for at in range(max(len(there), len(frames))):
        ours = frames[at] if at < len(frames) else b""
        theirs = there[at] if at < len(there) else b""
        if ours != theirs:
            lines.append(f"{name}: frame {at + 1}\n  file  {theirs.hex()}\n  scapy {ours.hex()}")
    return lines


def make(folder, check):
    """Makes or checks the files of one case; returns what is wrong."""
    case = runpy.run_path(str(folder / "frames.py"))["case"]
    files = {**case.inputs(), **case.outputs()}
    wrong = []
    for name, frames in files.items():
        if check:
            wrong += differences(f"{folder.name}/{name}", folder / name, frames)
        else:
            (folder / name).write_bytes(pcap(frames))
    for path in sorted(folder.glob("*.pcap")):
        if path.name not in files:
            if check:
                wrong.append(f"{folder.name}/{path.name}: frames.py knows nothing of it")
            else:
                path.unlink()
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True
    names = arguments.case or sorted(path.parent.name for path in HERE.glob("*/frames.py"))
    wrong = [line for name in names for line in make(HERE / name, arguments.check)]
    print("\n".join(wrong) if wrong else f"{len(names)} cases")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
