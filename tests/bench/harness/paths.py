"""Where the two ends of a measurement run, and how they reach each other.

Everything that knows the emulator's command line is in `Lab`."""

import json
import os
import platform
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path as File

from . import programs
from .process import run

BIG_BUFFERS = 100_000_000  # bytes: the paper's 10^8


@dataclass
class End:
    """One end: its IPv4 address, and what to put before a command to run it there."""
    address: str
    prefix: list = field(default_factory=list)

    def command(self, *arguments):
        return [*self.prefix, *map(str, arguments)]

    def write_setting(self, name, value):
        run(self.command("sh", "-c", 'echo "$1" > "$2"', "sh", str(value), _setting(name)))


@contextmanager
def socket_buffers(size):
    """Raises the machine's ceilings on socket buffers for a while, where that is permitted. (They are
    settings of the machine: a network namespace shows them and cannot change them.) `size` None:
    leaves them alone."""
    before = {}
    try:
        for name in ("net.core.rmem_max", "net.core.wmem_max") if size and os.geteuid() == 0 else ():
            file = File(_setting(name))
            old = file.read_text().strip()
            if int(old) < size:
                before[file] = old
                file.write_text(str(size))
        yield
    finally:
        for file, old in before.items():
            file.write_text(old)


class Loopback:
    """127.0.0.1, in a network namespace of its own whose loopback interface has an MTU of 1500
    bytes, so that TCP has no larger packets than the others. Without root: the host's own."""

    def __init__(self, name="xferbench-lo", mtu=1500):
        self.name = None
        prefix = []
        if os.geteuid() == 0:
            self.name = f"{name}-{os.getpid()}"
            run(["ip", "netns", "add", self.name])
            prefix = ["ip", "netns", "exec", self.name]
            run([*prefix, "ip", "link", "set", "lo", "mtu", mtu, "up"])
        self.sender = End("127.0.0.1", prefix)
        self.receiver = self.sender
        self.description = f"loopback, MTU {mtu}" if self.name else "the host's loopback interface"

    def close(self):
        if self.name:
            run(["ip", "netns", "delete", self.name])


class Lab:
    """Two network namespaces joined by tests/netlab's emulator. Needs root.

    rate bits/s; rtt_ms, jitter_ms milliseconds; loss a share (0.01 is 1 %), both directions. The
    queue is one bandwidth-delay product, but at least SMALLEST_QUEUE: less than that no switch has,
    and it would lose parts of every train that a host sends at once. jitter_ms: more or less, in order
    unless `reorder`. udt_drop (n, r): every nth UDT data packet and its first r retransmissions are
    lost."""

    SMALLEST_QUEUE = 250_000  # bytes

    def __init__(self, rate=1e9, rtt_ms=100, loss=0.0, jitter_ms=0.0, reorder=False, udt_drop=None):
        self.name = f"xb{os.getpid()}"
        self.rate, self.rtt_ms = rate, rtt_ms
        queue = max(self.SMALLEST_QUEUE, round(self.bdp))
        arguments = ["--rate", f"{rate / 1e6:g}mbit", "--rtt", f"{rtt_ms:g}", "--queue", queue, "--loss",
                     f"{loss * 100:g}%"]
        if jitter_ms:
            arguments += ["--jitter", f"{jitter_ms:g}"] + (["--jitter-reorders"] if reorder else [])
        if udt_drop:
            arguments += ["--udt-drop", f"every={udt_drop[0]},repeats={udt_drop[1]}"]
        self._undo = ExitStack()
        try:
            self._undo.enter_context(socket_buffers(max(BIG_BUFFERS, int(2 * self.bdp))))
            self._netlab("up", *arguments)
            self._undo.callback(self._netlab, "down")
            self.sender, self.receiver = self._end("a"), self._end("b")
            for end in (self.sender, self.receiver):
                self._prepare(end)
        except BaseException:
            self._undo.close()
            raise

    @property
    def description(self):
        return f"{self.rate / 1e6:g} Mbit/s, RTT {self.rtt_ms:g} ms"

    @property
    def bdp(self):
        """Bandwidth-delay product, bytes."""
        return self.rate / 8 * self.rtt_ms / 1e3

    def set_loss(self, loss):
        self._netlab("set", "--loss", f"{loss * 100:g}%")

    def counters(self):
        """The emulator's counters since it was made: {"a_to_b": {...}, "b_to_a": {...}}."""
        return json.loads(self._netlab("stats"))

    def queued_byte_seconds(self):
        """Bytes that waited in the queue from sender to receiver, times how long, so far."""
        return self.counters()["a_to_b"]["queue"]["byte_seconds"]

    def close(self):
        self._undo.close()

    def _netlab(self, command, *arguments):
        return run([programs.netlab(), command, "--name", self.name, *map(str, arguments)])

    def _end(self, which):
        prefix = [programs.netlab(), "exec", "--name", self.name, which, "--"]
        addresses = run([*prefix, "ip", "-j", "-4", "address", "show"])
        for interface in json.loads(addresses):
            for address in interface.get("addr_info", []):
                if address["scope"] == "global":
                    return End(address["local"], prefix)
        raise RuntimeError(f"end {which} of the lab has no address")

    def _prepare(self, end):
        """TCP may have buffers for two bandwidth-delay products, and does not learn from earlier runs."""
        size = max(BIG_BUFFERS, int(2 * self.bdp))
        for name in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
            end.write_setting(name, f"4096 131072 {size}")
        end.write_setting("net.ipv4.tcp_no_metrics_save", 1)


@contextmanager
def opened(path):
    """Closes the path at the end."""
    try:
        yield path
    finally:
        path.close()


@contextmanager
def work_folder(where="/dev/shm"):
    """A new folder on a tmpfs, removed at the end."""
    folder = File(tempfile.mkdtemp(prefix="xfer-bench-", dir=where))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def machine():
    """One line on the machine: processor, how many, memory, kernel."""
    model = "unknown processor"
    for line in File("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} processors, {memory:.0f} GiB, Linux {platform.release()}"


def _setting(name):
    return "/proc/sys/" + name.replace(".", "/")
