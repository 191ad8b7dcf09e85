from harness import svg
from harness.contestants import TcpFile, tuned_stock
from harness.figures import rate_between, rotated, spread
from harness.text_table import markdown

from .table import PAYLOAD_SHARE, Table

RATE = 1e9


class RttsTable(Table):
    name = "rtts"
    title = "Share of 1 Gbit/s in steady state, by round-trip time"
    conditions = ("Lab, queue of one bandwidth-delay product, at least 250 kB. Goodput of a transfer without end by the line's "
                  "payload rate, over 10 s that begin 3 s and 20 round trips after the start; percent.")
    RTTS_MS = (0.3, 10, 50, 200, 300)
    LOSSES = (0, 0.005)

    def minutes(self, runs):
        return runs * 4 * sum(2 * (14 + 20 * rtt / 1e3) for rtt in self.RTTS_MS) / 60

    def measure(self, s):
        contestants = s.usable([s.xfer(), TcpFile("bbr", 1), TcpFile("cubic", 1), tuned_stock()])
        measured = 3 if s.options.quick else 10
        for rtt in self.RTTS_MS:
            for loss in self.LOSSES:
                row = f"{rtt:g} ms, {loss * 100:g} %"
                with s.lab(row, RATE, rtt, loss) as path:
                    for number in range(s.runs):
                        for contestant in rotated(contestants, number):
                            self.one(s, path, contestant, 3 + 20 * rtt / 1e3, measured, row)

    @staticmethod
    def one(s, path, contestant, begin, measured, row):
        try:
            [(samples, _)] = s.watch(path, [contestant], begin + measured)
        except RuntimeError as error:
            s.record(row, contestant, failed="ended early", output=str(error)[-1000:])
            return
        rate = rate_between(samples, begin, begin + measured) * 8
        s.record(row, contestant, share=rate / (RATE * PAYLOAD_SHARE), mbit_per_s=rate / 1e6)

    def markdown(self, r):
        def percent(values):
            return spread([v * 100 for v in values])

        return markdown(["RTT, loss", *map(r.name, r.contestants())],
                        [[row, *(r.cell(row, k, "share", percent) for k in r.contestants())]
                         for row in r.rows()])

    def plots(self, r):
        plots = {}
        for loss in self.LOSSES:
            rows = [row for row in r.rows() if row.endswith(f", {loss * 100:g} %")]
            plots[f"loss-{loss * 100:g}"] = svg.bars(
                f"{self.title}, loss {loss * 100:g} %", "share", [row.split(",")[0] for row in rows],
                {r.name(k): [r.median(row, k, "share") for row in rows] for k in r.contestants()})
        return plots
