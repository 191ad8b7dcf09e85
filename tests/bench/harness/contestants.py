"""The programs that are measured, behind one interface.

A contestant starts two processes. The *first* waits, the *second* connects to it; which of them
sends differs. `Transfer` runs such a pair and judges it."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import programs
from .paths import BIG_BUFFERS, socket_buffers
from .process import Process, run


@dataclass
class Job:
    """What is to be moved, where, and for how long at most."""
    path: object  # of paths.py
    source: Path
    target: Path  # an existing, empty directory
    limit: float = 120  # seconds

    @property
    def size(self):
        return self.source.stat().st_size

    @property
    def destination(self):
        return self.target / self.source.name


class Contestant:
    """One program, or one way to use it. Subclasses start the two processes."""

    first_sends = False  # else the second does
    first_ends = True  # by itself, after one transfer; else it is stopped
    makes_file = True  # else there is nothing to compare
    needs = ()  # commands
    limit = None  # seconds it may take, where not the table's

    def __init__(self, key, title, buffers=None):
        self.key, self.title = key, title
        self.buffers = buffers  # ceiling of UDP socket buffers during the run; None: the machine's

    def start_first(self, t):
        """Starts the waiting process; returns it when it is ready."""
        raise NotImplementedError

    def start_second(self, t, first):
        raise NotImplementedError

    def seconds(self, t, ended):
        """Of the transfer: from the start of the second process to its end, unless it tells better."""
        return t.elapsed

    def extra(self, t, first, second):
        """More to record of a run that ended well."""
        return {}

    def unusable(self):
        """Why it cannot be run here, or None."""
        absent = programs.missing(self.needs)
        return f"not installed: {', '.join(absent)}" if absent else None


class Transfer:
    """A running pair of processes. Use: `with Transfer(contestant, job) as t: record = t.finish()`."""

    def __init__(self, contestant, job, wrap_receiver=(), proxy=None):
        """wrap_receiver: words before the receiving program's command, as `strace`.
        proxy: options of an impairment proxy on the first one's host, in the way of everything; None:
        there is none."""
        self.contestant, self.job = contestant, job
        self.wrap_receiver = list(wrap_receiver)
        self.proxy_options = proxy
        self.first = self.second = self.proxy = None
        self._buffers = socket_buffers(contestant.buffers)

    def __enter__(self):
        self._buffers.__enter__()
        try:
            self.first = self.contestant.start_first(self)
            if self.proxy_options is not None:
                self._insert_proxy()
            self.begin = time.monotonic()
            self.second = self.contestant.start_second(self, self.first)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        for process in (self.second, self.first, self.proxy):
            if process:
                process.stop(1)
        self._buffers.__exit__(None, None, None)

    @property
    def receiver(self):
        """The receiving process. REQUIRES: both are started."""
        return self.second if self.contestant.first_sends else self.first

    def at_sender(self, *command, environment=None):
        return Process(self.job.path.sender.command(*command), environment)

    def at_receiver(self, *command, environment=None):
        return Process(self.job.path.receiver.command(*self.wrap_receiver, *command), environment)

    def finish(self):
        """Waits for the end; returns a record: seconds, sender_cpu_s, receiver_cpu_s and what the
        contestant adds, or `failed` and why."""
        second = self._wait_for_second()
        self.elapsed = time.monotonic() - self.begin
        if second.timed_out:
            return {"failed": f"over {self.job.limit:g} s", "over_s": self.job.limit}
        if second.good and self.contestant.first_ends:
            first = self.first.wait(30)
        else:
            time.sleep(0.2)  # a server waits for its own children, whose processor time counts
            first = self.first.stop()
        if not second.good or (self.contestant.first_ends and not first.good):
            return {"failed": f"status {second.status} and {first.status}",
                    "output": (second.output + first.output)[-2000:]}
        if self.contestant.makes_file and not same(self.job.source, self.job.destination):
            return {"failed": "wrong content"}
        sender, receiver = (first, second) if self.contestant.first_sends else (second, first)
        record = {"seconds": self.contestant.seconds(self, second), "bytes": self.job.size,
                  "sender_cpu_s": sender.cpu, "receiver_cpu_s": receiver.cpu,
                  "receiver_user_s": receiver.user, "receiver_system_s": receiver.system}
        return {**record, **self.contestant.extra(self, first, second)}

    def _insert_proxy(self):
        end = self.job.path.sender if self.contestant.first_sends else self.job.path.receiver
        self.proxy = Process(
            end.command(programs.interop("impair_proxy"), self.first.port, "--listen-host", end.address,
                        "--target-host", end.address, *self.proxy_options), hold_input=True)
        self.first.port = int(self.proxy.line_after("port "))

    def _wait_for_second(self):
        """Until its end, the time limit, or the first one's failure, after which it may wait for ever."""
        deadline = self.begin + self.job.limit
        while not self.second.ended_within(min(1, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                break
            if self.first.ended() and not self.first.wait(0).good:
                return self.second.stop()
        return self.second.wait(0)

    def interrupt(self):
        """Ends a transfer that was only to be watched; returns what the two processes printed."""
        return self.second.stop().output, self.first.stop().output


class Xfer(Contestant):
    """`xfer recv` and `xfer send` in plain mode; the time is that of the whole sending command, the
    receiver's verdict included."""

    limit = 300

    def __init__(self, key="xfer", title="xfer", send=(), receive=(), both=(), buffers=None):
        super().__init__(key, title, buffers)
        self.send, self.receive = [*both, *send], [*both, *receive]

    def start_first(self, t):
        first = t.at_receiver(programs.xfer(), "recv", "--plain", "--json", "--once", "--listen",
                              f"{t.job.path.receiver.address}:0", "--dir", t.job.target, *self.receive)
        first.port = int(first.line_after('"port":').split(",")[0])
        return first

    def start_second(self, t, first):
        return t.at_sender(programs.xfer(), "send", "--plain", "--json", *self.send, t.job.source,
                           f"{t.job.path.receiver.address}:{first.port}")

    def extra(self, t, first, second):
        return {"sender_summary": summary_event(second.output),
                "receiver_summary": summary_event(first.output)}


class Stock(Contestant):
    """UDT's sendfile/recvfile samples on stock UDT4. The time is the client's, from before connect()
    to the end of recvfile(), without the start of the process, in which the library measures its
    clock."""

    first_sends = True
    TUNED_WINDOW = 100_000  # packets; set first, or the library cuts the buffer to its default window

    def __init__(self, key="stock", title="stock UDT4, defaults", buffer=None):
        super().__init__(key, title, buffer)
        self.options = [] if buffer is None else [
            f"--window={self.TUNED_WINDOW}", f"--udt-buffer={buffer}", f"--udp-buffer={buffer}"]

    def start_first(self, t):
        first = t.at_sender(programs.interop("stock_sample"), "sendfile", "--bind",
                            t.job.path.sender.address, *self.options)
        first.port = int(first.line_after("port "))
        return first

    def start_second(self, t, first):
        return t.at_receiver(programs.interop("stock_sample"), "recvfile", "--bind",
                             t.job.path.receiver.address, *self.options, t.job.path.sender.address,
                             first.port, t.job.source, t.job.destination)

    def seconds(self, t, ended):
        return float(ended.output.split("seconds=", 1)[1].split()[0])


class TcpFile(Contestant):
    """A file over kernel TCP by sendfile() and write(), in `flows` connections at once."""

    def __init__(self, control, flows):
        super().__init__(f"{control}-{flows}", f"TCP {control}, {flows} flow{'s' if flows > 1 else ''}")
        self.control, self.flows = control, flows

    def unusable(self):
        return no_congestion_control(self.control)

    def start_first(self, t):
        first = t.at_receiver("python3", programs.script("tcp_file.py"), "receive",
                              t.job.path.receiver.address, self.flows, t.job.size, t.job.destination)
        first.port = int(first.line_after("port "))
        return first

    def start_second(self, t, first):
        return t.at_sender("python3", programs.script("tcp_file.py"), "send",
                           t.job.path.receiver.address, first.port, self.flows, self.control, t.job.source)

    def seconds(self, t, ended):
        return float(ended.output.split("seconds ", 1)[1].split()[0])


class Iperf(Contestant):
    """iperf3, from memory to memory: no file is read or written. The time is what the bytes take at
    the receiver's rate."""

    makes_file = False
    needs = ("iperf3",)

    def __init__(self, control, flows):
        super().__init__(f"iperf3-{control}-{flows}",
                         f"iperf3 {control}, {flows} flow{'s' if flows > 1 else ''}, no files")
        self.control, self.flows = control, flows

    def unusable(self):
        return super().unusable() or no_congestion_control(self.control)

    def start_first(self, t):
        port = free_port(t.job.path)
        first = t.at_receiver("iperf3", "--server", "--one-off", "--port", port, "--forceflush")
        first.port = port
        first.line_after("Server listening")
        return first

    def start_second(self, t, first):
        return t.at_sender("iperf3", "--client", t.job.path.receiver.address, "--port", first.port,
                           "--congestion", self.control, "--parallel", self.flows, "--bytes", t.job.size,
                           "--json")

    def seconds(self, t, ended):
        received = json.loads(ended.output)["end"]["sum_received"]
        return t.job.size * 8 / received["bits_per_second"]


class RsyncDaemon(Contestant):
    first_ends = False
    needs = ("rsync",)

    def __init__(self):
        super().__init__("rsync", "rsync daemon")

    def start_first(self, t):
        port = free_port(t.job.path)
        configuration = t.job.target.parent / "rsyncd.conf"
        configuration.write_text(
            f"use chroot = no\nread only = no\nuid = {os.getuid()}\ngid = {os.getgid()}\n"
            f"[target]\npath = {t.job.target}\n")
        first = t.at_receiver("rsync", "--daemon", "--no-detach", f"--config={configuration}",
                              f"--address={t.job.path.receiver.address}", f"--port={port}",
                              "--log-file=/dev/null")
        first.port = port
        wait_until_listening(t.job.path.receiver, first)
        return first

    def start_second(self, t, first):
        return t.at_sender("rsync", "--whole-file", t.job.source,
                           f"rsync://{t.job.path.receiver.address}:{first.port}/target/")


class Scp(Contestant):
    """scp to an sshd of its own, with keys and configuration in the work folder."""

    first_ends = False
    needs = ("scp", "sshd", "ssh-keygen")
    SEPARATION = Path("/run/sshd")  # sshd insists on this empty directory

    def __init__(self):
        super().__init__("scp", "scp")

    def start_first(self, t):
        folder = t.job.target.parent / "ssh"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        for key in ("host", "user"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key])
        shutil.copy(folder / "user.pub", folder / "authorized")
        port = free_port(t.job.path)
        (folder / "config").write_text(
            f"ListenAddress {t.job.path.receiver.address}:{port}\nHostKey {folder}/host\n"
            f"AuthorizedKeysFile {folder}/authorized\nPidFile none\nStrictModes no\nUsePAM no\n"
            "PermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\n")
        if os.geteuid() == 0 and not self.SEPARATION.exists():
            self.SEPARATION.mkdir(mode=0o755)
            t.made = self.SEPARATION
        first = t.at_receiver(shutil.which("sshd", path="/usr/sbin:/sbin"), "-D", "-e", "-f",
                              folder / "config")
        first.port = port
        wait_until_listening(t.job.path.receiver, first)
        return first

    def start_second(self, t, first):
        folder = t.job.target.parent / "ssh"
        return t.at_sender("scp", "-q", "-F", "none", "-P", first.port, "-i", folder / "user",
                           "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                           "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
                           t.job.source, f"{t.job.path.receiver.address}:{t.job.target}/")


class Srt(Contestant):
    """`srt-file-transmit`, with windows of 10^8 bytes where the ceilings allow it."""

    needs = ("srt-file-transmit",)
    WINDOW = "fc=100000&sndbuf=100000000&rcvbuf=100000000&udp_sndbuf=100000000&udp_rcvbuf=100000000"

    def __init__(self):
        super().__init__("srt", "srt-file-transmit, 10^8-byte buffers", BIG_BUFFERS)

    def start_first(self, t):
        port = free_port(t.job.path)
        first = t.at_receiver("srt-file-transmit", "-q",
                              f"srt://{t.job.path.receiver.address}:{port}?mode=listener&{self.WINDOW}",
                              f"file://{t.job.target}/")
        first.port = port
        time.sleep(0.3)  # it does not say when it listens; a caller repeats its request anyway
        return first

    def start_second(self, t, first):
        return t.at_sender("srt-file-transmit", "-q", f"file://{t.job.source}",
                           f"srt://{t.job.path.receiver.address}:{first.port}?mode=caller&{self.WINDOW}")


class Uftp(Contestant):
    """UFTP in unicast at a fixed rate (`kbits` of payload a second): it is told what the line carries."""

    first_ends = False
    needs = ("uftp", "uftpd")

    def __init__(self, kbits):
        super().__init__("uftp", f"UFTP at {kbits / 1e6:g} Gbit/s", BIG_BUFFERS)
        self.kbits = kbits

    def start_first(self, t):
        port = free_port(t.job.path, socket.SOCK_DGRAM)
        temporary = t.job.target.parent / "uftp"
        temporary.mkdir(exist_ok=True)
        first = t.at_receiver("uftpd", "-d", "-t", "-p", port, "-D", t.job.target,
                              "-B", 100_000_000, "-I", interface_of(t.job.path.receiver))
        first.port = port
        time.sleep(0.3)  # it does not say when it listens; the sender repeats its announcement
        return first

    def start_second(self, t, first):
        # A block that fills a packet of 1500 bytes: 28 of IP and UDP, 28 of UFTP before the data.
        return t.at_sender("uftp", "-M", t.job.path.receiver.address, "-p", first.port, "-R",
                           round(self.kbits), "-r", "0.2", "-b", 1444, "-B", 100_000_000, "-I",
                           interface_of(t.job.path.sender), t.job.source)


class BarePath(Contestant):
    """The ceiling: the same system calls and copies without a protocol; see bare_path.cpp."""

    def __init__(self, window=8 << 20):
        super().__init__("bare", "bare ceiling")
        self.window = window  # bytes in flight; the path must not lose any

    def start_first(self, t):
        t.credit = t.job.target.parent / "credit"
        first = t.at_receiver(programs.bench("bare_path"), "receive", t.job.path.receiver.address,
                              t.job.destination, t.job.size, t.credit)
        first.port = int(first.line_after("port "))
        return first

    def start_second(self, t, first):
        return t.at_sender(programs.bench("bare_path"), "send", t.job.source,
                           t.job.path.receiver.address, first.port, t.credit, self.window)


class Growth:
    """Watches how many bytes are in the files of a directory, in a thread: samples of (seconds since
    `begin`, bytes). Pages on a tmpfs are counted, so 4 KiB is the resolution."""

    def __init__(self, directory, interval, begin=None):
        self.directory, self.interval = directory, interval
        self.begin = time.monotonic() if begin is None else begin
        self.samples = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join()
        return self.samples

    def _watch(self):
        while not self._stop.wait(self.interval):
            self.samples.append((time.monotonic() - self.begin, stored_bytes(self.directory)))


def stored_bytes(directory):
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def same(a, b):
    return subprocess.run(["cmp", "--silent", a, b], check=False).returncode == 0


def summary_event(output):
    """The last `summary` among xfer's JSON lines, or {}."""
    found = {}
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("event") == "summary":
            found = event
    return found


def no_congestion_control(name):
    """Why TCP cannot use that algorithm, or None. Tries to load its module."""
    listed = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    if name not in listed.read_text().split() and shutil.which("modprobe"):
        subprocess.run(["modprobe", "-q", f"tcp_{name}"], check=False)
    return None if name in listed.read_text().split() else f"this kernel has no TCP {name}"


def free_port(path, kind=socket.SOCK_STREAM):
    """A port that is free on this machine now; in a namespace of the measurement all are."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_listening(end, process, limit=10):
    """Until the TCP port process.port is listened at, looked up in /proc/net/tcp."""
    wanted = f":{process.port:04X} 00000000:0000 0A"
    deadline = time.monotonic() + limit
    while wanted not in run(end.command("cat", "/proc/net/tcp")):
        if process.ended() or time.monotonic() > deadline:
            raise RuntimeError(f"{process.arguments} does not listen:\n{process.output()}")
        time.sleep(0.02)


def interface_of(end):
    """The network interface that has this end's address."""
    for interface in json.loads(run(end.command("ip", "-j", "-4", "address", "show"))):
        if any(a["local"] == end.address for a in interface.get("addr_info", [])):
            return interface["ifname"]
    raise RuntimeError(f"no interface has {end.address}")


def tuned_stock():
    return Stock("tuned", "stock UDT4, 10^8-byte buffers", BIG_BUFFERS)
