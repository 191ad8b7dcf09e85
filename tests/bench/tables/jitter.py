from harness.contestants import TcpFile, tuned_stock
from harness.figures import number
from harness.text_table import markdown

from .lossy import RATE, over_ideal
from .table import Table

RTT_MS = 150


class JitterTable(Table):
    name = "jitter"
    title = "Jitter of 2 ms at RTT 150 ms"
    conditions = ("1 GiB over the lab at 1 Gbit/s without loss: seconds to completion and multiple of the ideal. Jitter "
                  "is uniform within 2 ms each way, once keeping the order of packets and once letting them overtake.")
    CASES = {"none": {}, "jitter, in order": {"jitter_ms": 2},
             "jitter, reordering": {"jitter_ms": 2, "reorder": True}}

    def minutes(self, runs):
        return 1 + runs * 3 * 4 * 0.35

    def measure(self, s):
        source = s.source(s.mebibytes(1024))
        contestants = s.usable([s.xfer(), TcpFile("bbr", 1), TcpFile("cubic", 1), tuned_stock()])
        for case, options in self.CASES.items():
            with s.lab(case, RATE, RTT_MS, **options) as path:
                s.compare(path, case, contestants, source, 90)

    def markdown(self, r):
        def slower(key, row):
            without, with_it = r.median("none", key, "seconds"), r.median(row, key, "seconds")
            return f"{number(with_it / without)}" if without and with_it else "-"

        rows = r.rows()
        return markdown(["", *rows, *(f"{row}: time / none" for row in rows[1:])],
                        [[r.name(k), *(over_ideal(r, row, k) for row in rows),
                          *(slower(k, row) for row in rows[1:])] for k in r.contestants()])
