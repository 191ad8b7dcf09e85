from harness import svg
from harness.contestants import BarePath, RsyncDaemon, Scp, Srt, TcpFile, Uftp, tuned_stock
from harness.figures import number, spread
from harness.text_table import markdown

from .table import Table, bare_window, ideal_seconds

RATE = 1e9
RTT_MS = 100


def ratio(record):
    """Time by the ideal time."""
    return record["seconds"] / ideal_seconds(record["bytes"], RATE)


def over_ideal(result, row, key):
    """`seconds (min ... max), N x ideal`"""
    middle = result.median(row, key, ratio)
    return result.cell(row, key, "seconds",
                       lambda values: f"{spread(values)}, {number(middle)}x")


class LossyTable(Table):
    name = "lossy"
    title = "1 GiB over 1 Gbit/s, RTT 100 ms, with random loss"
    conditions = ("Lab of two network namespaces, queue of one bandwidth-delay product, loss in both directions. "
                  "Seconds to completion and multiple of the ideal (size by the line's payload rate). Peers have "
                  "90 s and are tried twice only when that is not enough.")
    LOSSES = (0, 0.001, 0.01, 0.05)

    def minutes(self, runs):
        return 4 * (runs * 1.3 + 2 * 7 * 1.5)

    def measure(self, s):
        source = s.source(s.mebibytes(1024))
        s.result["parameters"].update(rate=RATE, rtt_ms=RTT_MS, bytes=source.stat().st_size)
        peers = [s.xfer(), TcpFile("bbr", 8), TcpFile("bbr", 1), TcpFile("cubic", 8), TcpFile("cubic", 1),
                 tuned_stock(), Srt(), Uftp(RATE / 1e3 * 0.95), RsyncDaemon(), Scp()]
        contestants = s.usable(peers)
        for loss in self.LOSSES:
            row = f"{loss * 100:g} %"
            with s.lab(row, RATE, RTT_MS, loss) as path:
                bare = s.usable([BarePath(bare_window(path))]) if loss == 0 else []
                s.compare(path, row, contestants + bare, source, 90)

    def markdown(self, r):
        ideal = ideal_seconds(r.raw["parameters"]["bytes"], RATE)
        table = markdown(["", *(f"loss {row}" for row in r.rows())],
                         [[r.name(key), *(over_ideal(r, row, key) for row in r.rows())]
                          for key in r.contestants()])
        return f"Ideal: {number(ideal)} s.\n\n{table}"

    def plots(self, r):
        series = {r.name(k): [r.median(row, k, ratio) for row in r.rows()]
                  for k in ("xfer", "bbr-8", "bbr-1", "cubic-8", "tuned", "srt") if k in r.contestants()}
        return {"": svg.bars(self.title, "time / ideal time", [f"loss {row}" for row in r.rows()], series)}
