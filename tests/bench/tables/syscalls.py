import re

from harness import svg
from harness.contestants import Job, tuned_stock
from harness.figures import number
from harness.paths import Loopback, opened
from harness.text_table import markdown

from .table import Table, counter

MEBIBYTES = 143  # the 150 MB of the paper
PACED = ["--max-rate", "1G"]  # in order: the receiver, slowed down by strace, keeps up
BLOCKS = (1, 2, 4, 8, 16, 32, 64)
WRITES = ("write", "writev", "pwrite64", "pwritev", "pwritev2")
RECEIVES = ("recvmsg", "recvmmsg", "recvfrom", "recv")


def count_calls(text, into):
    """Adds to {"write_calls", "write_bytes", "receive_calls", "wakeups"} what one thread's
    `strace -y` log says: writes to files, receives from sockets, writes to anything else that is not
    a terminal or pipe. Pure."""
    for name, where, result in re.findall(r"^(\w+)\(\d+<([^>]*)>.* = (-?\d+)", text, re.MULTILINE):
        if name in WRITES and where.startswith("/") and not where.startswith("/dev/null"):
            into["write_calls"] = into.get("write_calls", 0) + 1
            into["write_bytes"] = into.get("write_bytes", 0) + max(0, int(result))
        elif name in WRITES and "eventfd" in where:
            into["wakeups"] = into.get("wakeups", 0) + 1
        elif name in RECEIVES and ("socket" in where or "UDP" in where):
            into["receive_calls"] = into.get("receive_calls", 0) + 1
            into["empty_receives"] = into.get("empty_receives", 0) + (int(result) < 0)
    return into


def call_summary(text):
    """{call: (share of the time in %, calls)} of the table that `strace -c` prints. Pure."""
    found = {}
    for share, calls, name in re.findall(
            r"^\s*([\d.]+)\s+[\d.]+\s+\d+\s+(\d+)(?:\s+\d+)?\s+(\w+)$", text, re.MULTILINE):
        if name != "total":
            found[name] = (float(share), int(calls))
    return found


def traced(s, path, contestant):
    """A transfer whose receiver runs under strace; a record with the counts of its calls."""
    log = s.folder / "calls"
    for old in s.folder.glob("calls*"):
        old.unlink()
    trace = ["strace", "-ff", "-y", "-s", "0", "-o", log, "-e", "trace=" + ",".join(WRITES + RECEIVES[:3])]
    job = Job(path, s.source(s.options.mebibytes or MEBIBYTES), s.target(), 300)
    figures = s.transfer(job, contestant, wrap_receiver=trace)
    if "failed" not in figures:
        counts = {}
        for thread in s.folder.glob("calls.*"):
            count_calls(thread.read_text(errors="replace"), counts)
        figures.update({"write_calls": 0, "receive_calls": 0, **counts})
        figures["payload_copies"] = counter(figures.get("receiver_summary"), "payload_copies")
        figures["packets"] = counter(figures.get("receiver_summary"), "packets_received")
    return figures


class SyscallsTable(Table):
    name = "syscalls"
    title = "System calls of the receiver for 150 MB"
    conditions = ("Loopback, MTU 1500; the receiver runs under strace. Ours is held to 1 Gbit/s so that everything "
                  "comes in order. FP: packets in a block (`recv --fp`). Writes are those to the file, receives those "
                  "from the socket; payload copies are those in user space, as the receiver counts them.")

    def minutes(self, runs):
        return runs * 8 * 0.2

    def measure(self, s):
        contestants = s.usable([s.xfer(f"fp-{n}", f"xfer, FP {n}", send=PACED, receive=["--fp", n])
                                for n in BLOCKS] + [tuned_stock()])
        with opened(Loopback()) as path:
            for _ in range(s.runs):
                for contestant in contestants:
                    s.record("150 MB", contestant, **traced(s, path, contestant))

    def markdown(self, r):
        stock = r.median("150 MB", "tuned", "write_calls")

        def part_of_stock(key):
            value = r.median("150 MB", key, "write_calls")
            return f"1/{number(stock / value)}" if stock and value else "-"

        def bytes_a_write(record):
            return record["write_bytes"] / record["write_calls"] if record.get("write_calls") else None

        return markdown(["", "writes", "of stock's", "bytes a write", "receives", "payload copies"],
                        [[r.name(k), r.cell("150 MB", k, "write_calls"), part_of_stock(k),
                          r.cell("150 MB", k, bytes_a_write), r.cell("150 MB", k, "receive_calls"),
                          r.cell("150 MB", k, "payload_copies")] for k in r.contestants()])

    def plots(self, r):
        keys = r.contestants()
        return {"": svg.bars(self.title, "calls", [r.name(k).replace("xfer, ", "").split(",")[0] for k in keys],
                             {"writes": [r.median("150 MB", k, "write_calls") for k in keys],
                              "receives": [r.median("150 MB", k, "receive_calls") for k in keys]})}
