"""The A-UDT paper's own tables and figures, measured again."""

import json
import time
from pathlib import Path

from harness import programs, svg
from harness.contestants import Job, Stock, Transfer, stored_bytes, tuned_stock
from harness.figures import number, rates, rotated, spread
from harness.paths import BIG_BUFFERS, Loopback, opened
from harness.process import Process, run
from harness.text_table import markdown

from .repeats import RATE, recovery_contestants, watch_repeats
from .syscalls import BLOCKS, MEBIBYTES, PACED, RECEIVES, WRITES, call_summary, traced
from .table import Table, goodput


def mbit(record):
    return goodput(record) * 1e3


def attach_to_threads(pid):
    """Starts `strace -c` on every thread of a process; returns the tracers, which end with it and
    print their summaries."""
    threads = [int(t.name) for t in Path(f"/proc/{pid}/task").iterdir()]
    return [Process(["strace", "-c", "-p", thread]) for thread in threads]


def share_of(threads, calls):
    """The largest share, percent, that these calls have together in one thread; in threads that do
    next to nothing it means nothing. threads: of call_summary(). Pure."""
    most = max(sum(count for _, count in thread.values()) for thread in threads)
    busy = [t for t in threads if sum(count for _, count in t.values()) * 20 >= most]
    return max(sum(thread.get(call, (0, 0))[0] for call in calls) for thread in busy)


class PaperTable1(Table):
    name = "paper-table1"
    title = "Table 1: the receiver's system calls for 150 MB"
    conditions = ("Loopback, MTU 1500. Counts under `strace -ff`; `strace -c` of every thread for the share that writing has "
                  "in the system call time of the thread that writes, and receiving in that of the thread that "
                  "receives; processor time of the process without strace. The paper's calls are derived from its sizes.")

    def minutes(self, runs):
        return runs * 0.8

    def measure(self, s):
        contestants = s.usable([Stock(), s.xfer("fp-1", "xfer, FP 1", send=PACED, receive=["--fp", 1]),
                                s.xfer("fp-8", "xfer, FP 8", send=PACED, receive=["--fp", 8])])
        with opened(Loopback()) as path:
            for round_number in range(s.runs):
                for contestant in rotated(contestants, round_number):
                    s.record("150 MB", contestant, **{**traced(s, path, contestant),
                                                      **self.shares(s, path, contestant)})

    @staticmethod
    def shares(s, path, contestant):
        """Of writing in the system call time of the thread that writes, of receiving in that of the
        thread that receives, percent; user and system seconds of a run that is not traced."""
        source = s.source(s.options.mebibytes or MEBIBYTES)
        plain = s.transfer(Job(path, source, s.target(), 300), contestant)
        job = Job(path, source, s.target(), 300)
        try:
            with Transfer(contestant, job) as transfer:
                while not stored_bytes(job.target) and not transfer.second.ended():
                    time.sleep(0.002)
                logs = attach_to_threads(transfer.receiver.pid)
                transfer.finish()
                threads = [call_summary(log.wait(10).output) for log in logs]
        except (RuntimeError, OSError) as error:
            return {"failed": "did not start", "output": str(error)[-1000:]}
        return {"write_share": share_of(threads, WRITES), "receive_share": share_of(threads, RECEIVES),
                "user_s": plain.get("receiver_user_s"), "system_s": plain.get("receiver_system_s")}

    def markdown(self, r):
        def a_call(kind):
            return lambda x: x["write_bytes"] / x[kind] if x.get(kind) else None

        def kernel(x):
            return x["system_s"] / x["user_s"] if x.get("user_s") else None

        rows = [["paper: stock UDT4", "about 103 000 (derived)", "1456", "about 103 000 (derived)", "1472",
                 "99.61", "98.17", "1 : 8"]]
        for k in r.contestants():
            cell = lambda figure, key=k: r.cell("150 MB", key, figure)
            rows.append([r.name(k), cell("write_calls"), cell(a_call("write_calls")), cell("receive_calls"),
                         cell(a_call("receive_calls")), cell("write_share"), cell("receive_share"),
                         r.cell("150 MB", k, kernel, lambda v: f"1 : {spread(v)}")])
        return markdown(["receiver", "writes", "bytes a write", "receives", "bytes a receive",
                         "% of its thread: writing", "% of its thread: receiving", "user : kernel CPU"], rows)


class PaperTable2(Table):
    name = "paper-table2"
    title = "Table 2 and Fig. 3: size of writes and time"
    conditions = ("93 184 bytes (64 payloads) appended to a file in calls of FP payloads of 1456 bytes: microseconds for "
                  "all, on the tmpfs that the other tables use. The paper's times are lost; it says that they fall "
                  "clearly up to 11 648 bytes (FP 8) and are flat above.")

    def minutes(self, runs):
        return 0.1

    def measure(self, s):
        for _ in range(s.runs):
            for line in run([programs.bench("write_sizes"), s.folder / "written"]).splitlines():
                figures = json.loads(line)
                s.record(f"{figures['fp']}", "write", bytes=figures["bytes"], microseconds=figures["median_us"])

    def markdown(self, r):
        first = r.median("1", "write", "microseconds")
        return markdown(["FP", "bytes a call", "us for 93 184 bytes", "of FP 1"],
                        [[row, r.values(row, "write", "bytes")[0], r.cell(row, "write", "microseconds"),
                          number(r.median(row, "write", "microseconds") / first)] for row in r.rows()])

    def plots(self, r):
        return {"": svg.lines(self.title, "bytes a call", "us for 93 184 bytes",
                              {"measured": [(r.values(row, "write", "bytes")[0],
                                             r.median(row, "write", "microseconds")) for row in r.rows()]})}


class PaperFigure6(Table):
    name = "paper-fig6"
    title = "Fig. 6: buffers small and large"
    conditions = ("1 GiB over loopback, MTU 1500, Mbit/s. Small: socket buffers of 208 KiB, as a system gives by default, and "
                  "stock's own default for the rest. Large: 10^8 bytes for stock; for ours what it asks for itself, with "
                  "the system's ceiling out of the way.")

    def minutes(self, runs):
        return runs * 0.3

    def measure(self, s):
        small = Stock("stock-small", "stock UDT4, small")
        small.options = ["--udp-buffer=212992"]
        large = tuned_stock()
        large.title = "stock UDT4, large"
        large_ours = s.xfer("xfer-large", "xfer, large")
        large_ours.buffers = BIG_BUFFERS
        contestants = s.usable([small, large, s.xfer("xfer-small", "xfer, small", both=["--socket-buffer", "208k"]),
                                large_ours])
        with opened(Loopback()) as path:
            s.compare(path, "1 GiB", contestants, s.source(s.mebibytes(1024)), 120)

    def markdown(self, r):
        rows = [["paper: stock UDT4, small (5 GB, 10 Gbit/s link)", "2500"], ["paper: stock UDT4, large", "5000"]]
        return markdown(["", "Mbit/s"], rows + [[r.name(k), r.cell("1 GiB", k, mbit)]
                                                for k in sorted(r.contestants())])

    def plots(self, r):
        keys = sorted(r.contestants())
        return {"": svg.bars(self.title, "Mbit/s", ["paper, small", "paper, large", *map(r.name, keys)],
                             {"rate": [2500, 5000, *(r.median("1 GiB", k, mbit) for k in keys)]})}


class PaperFigure7(Table):
    name = "paper-fig7"
    title = "Fig. 7: throughput over time with losses of retransmissions"
    conditions = ("Lab at 1 Gbit/s, RTT 10 ms, every 5000th packet lost three times: itself and its first two retransmissions. The paper has a "
                  "file of 20 GB at 10 Gbit/s, and of its figure only the words that the improved protocol is less "
                  "affected by loss and smoother.")
    RTT_MS = 10
    EVERY = 5000

    def minutes(self, runs):
        return runs * 4 * 1.1

    def measure(self, s):
        contestants = s.usable(recovery_contestants(s))
        seconds = 10 if s.options.quick else 60
        with s.lab("flow", RATE, self.RTT_MS, udt_drop=(self.EVERY, 2)) as path:
            for round_number in range(s.runs):
                for contestant in rotated(contestants, round_number):
                    try:
                        samples, figures = watch_repeats(s, path, contestant, seconds, 0.01)
                    except RuntimeError as error:
                        s.record("flow", contestant, failed="ended early", output=str(error)[-1000:])
                        continue
                    points = [(round(t, 2), round(v * 8 / 1e6, 1)) for t, v in rates(samples, 0.25)]
                    s.record("flow", contestant, **figures, over_time=points)

    def markdown(self, r):
        def variation(record):
            values = [v for t, v in record["over_time"] if t > 2]
            mean = sum(values) / len(values)
            return (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5 / mean if mean else None

        def idle(record):
            values = [v for t, v in record["over_time"] if t > 2]
            return 100 * values.count(0) / len(values)

        return markdown(["", "Mbit/s", "standard deviation / mean (of 0.25 s)", "% of the time at 0",
                         "longest pause, RTTs"],
                        [[r.name(k), r.cell("flow", k, "mbit_per_s"), r.cell("flow", k, variation),
                          r.cell("flow", k, idle), r.cell("flow", k, "pause_rtts")] for k in r.contestants()])

    def plots(self, r):
        return {"": svg.lines(self.title + " (first run)", "seconds", "Mbit/s",
                              {r.name(k): runs[0] for k in r.contestants()
                               if (runs := r.values("flow", k, "over_time"))})}


class PaperFigure8(Table):
    name = "paper-fig8"
    title = "Fig. 8: FP and throughput"
    conditions = ("1 GiB over loopback, MTU 1500, Mbit/s and receiver CPU. Of the paper's figure only the words 'higher "
                  "throughput' (for FP 8 against stock) survive.")

    def minutes(self, runs):
        return runs * 0.6

    def measure(self, s):
        contestants = s.usable([s.xfer(f"fp-{n}", f"xfer, FP {n}", receive=["--fp", n]) for n in BLOCKS]
                               + [tuned_stock()])
        with opened(Loopback()) as path:
            s.compare(path, "1 GiB", contestants, s.source(s.mebibytes(1024)), 120)

    def keys(self, r):
        return [k for k in [f"fp-{n}" for n in BLOCKS] + ["tuned"] if k in r.contestants()]

    def markdown(self, r):
        return markdown(["", "Mbit/s", "receiver CPU, s"],
                        [[r.name(k), r.cell("1 GiB", k, mbit), r.cell("1 GiB", k, "receiver_cpu_s")]
                         for k in self.keys(r)])

    def plots(self, r):
        return {"": svg.bars(self.title, "Mbit/s", [r.name(k).split(", ")[-1] for k in self.keys(r)],
                             {"rate": [r.median("1 GiB", k, mbit) for k in self.keys(r)]})}
