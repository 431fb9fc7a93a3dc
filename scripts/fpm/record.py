"""Takes zebra's connection as an FPM server and writes what it sends: an FPM frame a line, in hex."""

import socket
import sys
import time


def main() -> None:
    path, seconds = sys.argv[1], float(sys.argv[2])
    end = time.monotonic() + seconds
    listener = socket.create_server(("127.0.0.1", 2620))
    listener.settimeout(seconds)
    connection, _ = listener.accept()
    connection.settimeout(0.2)
    data = b""
    while time.monotonic() < end:
        try:
            part = connection.recv(65536)
        except TimeoutError:
            continue
        if not part:
            break
        data += part
    with open(path, "w", encoding="ascii") as file:
        while len(data) >= 4:
            length = int.from_bytes(data[2:4], "big")
            file.write(data[:length].hex() + "\n")
            data = data[length:]


main()
