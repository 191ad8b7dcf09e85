"""A file over kernel TCP in several connections at once: one end of it.

tcp_file.py receive ADDRESS FLOWS SIZE FILE     prints its port, writes the file, ends
tcp_file.py send ADDRESS PORT FLOWS CONGESTION-CONTROL FILE     prints the seconds until all is confirmed

Each connection carries one stretch of the file: its number, then the bytes; one byte comes back when
they are written."""

import os
import socket
import struct
import sys
import threading
import time

BLOCK = 1 << 18


def stretch(size, flows, index):
    return size * index // flows, size * (index + 1) // flows


def receive_stretch(connection, file, flows, size):
    (index,) = struct.unpack("!I", connection.recv(4, socket.MSG_WAITALL))
    offset, end = stretch(size, flows, index)
    buffer = memoryview(bytearray(BLOCK))
    while offset < end:
        count = connection.recv_into(buffer)
        if count == 0:
            os._exit(1)  # the other connections would wait for ever
        os.pwrite(file, buffer[:count], offset)
        offset += count
    connection.sendall(b".")


def receive(address, flows, size, name):
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    with socket.create_server((address, 0), backlog=flows) as listener:
        print("port", listener.getsockname()[1], flush=True)
        threads = []
        for _ in range(flows):
            connection, _ = listener.accept()
            threads.append(threading.Thread(target=receive_stretch, args=(connection, file, flows, size)))
            threads[-1].start()
    for thread in threads:
        thread.join()


def send_stretch(address, port, index, flows, control, file):
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        connection.connect((address, port))
        connection.sendall(struct.pack("!I", index))
        offset, end = stretch(os.fstat(file).st_size, flows, index)
        while offset < end:
            offset += os.sendfile(connection.fileno(), file, offset, min(end - offset, 1 << 30))
        if connection.recv(1) != b".":
            os._exit(1)


def send(address, port, flows, control, name):
    begin = time.monotonic()
    file = os.open(name, os.O_RDONLY)
    threads = [threading.Thread(target=send_stretch, args=(address, port, i, flows, control, file))
               for i in range(flows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"seconds {time.monotonic() - begin:.6f}", flush=True)


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "receive":
        receive(arguments[0], int(arguments[1]), int(arguments[2]), arguments[3])
    else:
        send(arguments[0], int(arguments[1]), int(arguments[2]), arguments[3], arguments[4])
