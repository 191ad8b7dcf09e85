"""Round-trip times past the flows of a measurement, by small UDP datagrams.

delay_probe.py echo ADDRESS     prints its port, answers every datagram until it is stopped
delay_probe.py probe ADDRESS PORT SECONDS     sends one each 50 ms; prints JSON: sent, received, rtt_ms

Datagrams that are lost, as when the queue is full, have no time; they are counted."""

import json
import socket
import struct
import sys
import time

INTERVAL = 0.05


def echo(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((address, 0))
        print("port", server.getsockname()[1], flush=True)
        while True:
            datagram, peer = server.recvfrom(64)
            server.sendto(datagram, peer)


def probe(address, port, seconds):
    times, sent = [], 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((address, port))
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            client.send(struct.pack("!d", time.monotonic()))
            sent += 1
            next_one = begin + sent * INTERVAL
            while (left := next_one - time.monotonic()) > 0:
                client.settimeout(left)
                try:
                    (when,) = struct.unpack("!d", client.recv(64))
                except (TimeoutError, ConnectionRefusedError):
                    break
                times.append((time.monotonic() - when) * 1e3)
    print(json.dumps({"sent": sent, "received": len(times), "rtt_ms": times}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "echo":
        echo(sys.argv[2])
    else:
        probe(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
