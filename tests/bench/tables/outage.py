import time

from harness.contestants import Growth, Job, TcpFile, Transfer, tuned_stock
from harness.figures import rotated
from harness.text_table import markdown

from .table import Table

RATE = 1e9
RTT_MS = 100


class OutageTable(Table):
    name = "outage"
    title = "An outage of 5 s in the middle of a transfer"
    conditions = ("1 GiB over the lab at 1 Gbit/s, RTT 100 ms; 3 s after the start nothing passes either way for 5 s. "
                  "Seconds from its end to the next byte in the received file, and to completion; every byte compared.")
    BEGIN, LENGTH = 3, 5

    def minutes(self, runs):
        return runs * 4 * 0.5

    def measure(self, s):
        contestants = s.usable([s.xfer(), TcpFile("bbr", 1), TcpFile("cubic", 1), tuned_stock()])
        # Also a quick run must still be under way when the outage begins.
        source = s.source(s.options.mebibytes or (512 if s.options.quick else 1024))
        with s.lab("outage", RATE, RTT_MS) as path:
            for number in range(s.runs):
                for contestant in rotated(contestants, number):
                    s.record("outage", contestant, **self.one(s, path, contestant, source))

    def one(self, s, path, contestant, source):
        job = Job(path, source, s.target(), 120)
        try:
            with Transfer(contestant, job) as transfer:
                growth = Growth(job.target, 0.005, transfer.begin)
                time.sleep(self.BEGIN)
                path.set_loss(1)
                time.sleep(self.LENGTH)
                path.set_loss(0)
                healed = time.monotonic() - transfer.begin
                figures = transfer.finish()
                samples = growth.stop()
        except (RuntimeError, OSError) as error:
            path.set_loss(0)
            return {"failed": "did not start", "output": str(error)[-1000:]}
        at_end = max(bytes_ for when, bytes_ in samples if when <= healed)
        resumed = next((when for when, bytes_ in samples if bytes_ > at_end), None)
        if "failed" in figures:
            return figures
        if resumed is None:
            return {"failed": "complete before the outage"}
        return {**figures, "resumed_s": resumed - healed}

    def markdown(self, r):
        return markdown(["", "resumes after, s", "whole transfer, s"],
                        [[r.name(k), r.cell("outage", k, "resumed_s"), r.cell("outage", k, "seconds")]
                         for k in r.contestants()])
