"""Child processes with a time limit, their output, and their processor time."""

import atexit
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass


@dataclass
class Ended:
    """How a process ended. Processor time is that of the process and of the children it waited for."""
    status: int  # exit status; 128 + signal number
    timed_out: bool
    user: float
    system: float
    output: str

    @property
    def good(self):
        return self.status == 0 and not self.timed_out

    @property
    def cpu(self):
        return self.user + self.system


class Process:
    """A child in a process group of its own; output and errors go to an unnamed file."""

    _alive = set()

    def __init__(self, arguments, environment=None, hold_input=False):
        """hold_input: standard input stays open until close_input(), else it is empty."""
        self.arguments = [str(a) for a in arguments]
        self._output = tempfile.TemporaryFile()
        self._child = subprocess.Popen(
            self.arguments, stdin=subprocess.PIPE if hold_input else subprocess.DEVNULL, stdout=self._output, stderr=self._output,
            start_new_session=True, env={**os.environ, **(environment or {})})
        self._ended = None
        self.started = time.monotonic()
        Process._alive.add(self)

    @property
    def pid(self):
        return self._child.pid

    def close_input(self):
        self._child.stdin.close()

    def output(self):
        """What it has printed so far."""
        if self._ended:
            return self._ended.output
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")

    def line_after(self, prefix, limit=10):
        """The rest of the first output line that has `prefix`, once it is complete; raises
        RuntimeError when the process ends without it or `limit` seconds pass."""
        deadline = time.monotonic() + limit
        while True:
            over = self.ended()
            for line in self.output().splitlines(keepends=True):
                if prefix in line and line.endswith("\n"):
                    return line.split(prefix, 1)[1].strip()
            if over or time.monotonic() > deadline:
                raise RuntimeError(f"no '{prefix}' from {self.arguments}:\n{self.output()}")
            time.sleep(0.005)

    def ended(self):
        """Whether it has ended by now."""
        return self._ended is not None or self._reap(os.WNOHANG)

    def ended_within(self, limit):
        """Waits up to `limit` seconds; returns whether it has ended."""
        if not self.ended():
            descriptor = os.pidfd_open(self.pid)
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(max(0, limit) * 1000)
            os.close(descriptor)
        return self.ended()

    def wait(self, limit):
        """Waits for the end; kills the process group if it does not come within `limit` seconds."""
        if not self.ended_within(limit):
            self._signal(signal.SIGKILL)
            self._reap(0, timed_out=True)
        return self._ended

    def stop(self, grace=5):
        """Asks it to end (SIGTERM), kills it after `grace` seconds."""
        if not self.ended():
            self._signal(signal.SIGTERM)
        return self.wait(grace)

    def _signal(self, number):
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def _reap(self, flags, timed_out=False):
        pid, status, usage = os.wait4(self.pid, flags)
        if pid == 0:
            return False
        code = os.waitstatus_to_exitcode(status)
        self._child.returncode = code
        Process._alive.discard(self)
        self._ended = Ended(code if code >= 0 else 128 - code, timed_out,
                            usage.ru_utime, usage.ru_stime, self.output())
        self._output.close()
        return True

    @staticmethod
    def stop_all():
        for process in list(Process._alive):
            process._signal(signal.SIGKILL)
            process.wait(1)


atexit.register(Process.stop_all)


def run(arguments, limit=60):
    """Runs a command to its end and returns its output; raises RuntimeError if it fails."""
    ended = Process(arguments).wait(limit)
    if not ended.good:
        raise RuntimeError(f"{' '.join(map(str, arguments))} failed ({ended.status}):\n{ended.output}")
    return ended.output
