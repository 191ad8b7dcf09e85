import json

from harness import programs
from harness.process import Process
from harness.text_table import markdown

from .table import Table


class SimTable(Table):
    name = "sim"
    title = "Fast long paths in the simulator"
    conditions = ("Two cores in virtual time, queue of one bandwidth-delay product: share of the payload capacity over "
                  "the last part of the run, peak heap of each core, and wall seconds per simulated second. One run "
                  "each: the simulator repeats itself exactly, only the wall time varies.")
    CASES = [(gbit, rtt_ms, loss) for gbit, rtt_ms in ((10, 100), (100, 200)) for loss in (0, 0.0001)]

    def minutes(self, runs):
        return 20

    def measure(self, s):
        contestant = s.xfer("core", "xfer's core")
        for gbit, rtt_ms, loss in self.CASES:
            row = f"{gbit} Gbit/s, {rtt_ms} ms, loss {loss * 100:g} %"
            scale = 0.2 if s.options.quick else 1
            warm_up, measured = (5 * scale, 5 * scale) if gbit == 10 else (8 * scale, 4 * scale)
            ended = Process([programs.bench("sim_bench"), "--gbit", gbit, "--rtt-ms", rtt_ms, "--loss", loss,
                             "--warm-up", warm_up, "--seconds", measured, *s.options.sim]).wait(3600)
            if ended.good:
                s.record(row, contestant, **json.loads(ended.output))
            else:
                s.record(row, contestant, failed=f"status {ended.status}", output=ended.output[-1000:])

    def markdown(self, r):
        def scaled(key, factor):
            return lambda record: record[key] * factor

        return markdown(["path", "% of capacity", "sender, MB", "receiver, MB", "wall s per simulated s"],
                        [[row, r.cell(row, "core", scaled("share", 100)),
                          r.cell(row, "core", scaled("sender_peak_bytes", 1e-6)),
                          r.cell(row, "core", scaled("receiver_peak_bytes", 1e-6)),
                          r.cell(row, "core", "wall_s_per_simulated_s")] for row in r.rows()])
