from harness import svg
from harness.contestants import (BarePath, Iperf, RsyncDaemon, Scp, Srt, Stock, TcpFile, Uftp,
                                 tuned_stock)
from harness.figures import number
from harness.paths import Loopback, opened
from harness.text_table import markdown

from .table import Table, cpu_per_gb, goodput


class LoopbackTable(Table):
    name = "loopback"
    title = "One file of 1 GiB over loopback"
    conditions = ("From a tmpfs to a tmpfs over a loopback interface with an MTU of 1500 bytes, both ends on "
                  "this machine; every byte compared. CPU: whole processes, both ends.")

    def minutes(self, runs):
        return 1 + runs * 0.8

    def measure(self, s):
        contestants = s.usable([
            s.xfer(), Stock(), tuned_stock(), RsyncDaemon(), Scp(), Srt(), Uftp(2e6), TcpFile("cubic", 1),
            TcpFile("bbr", 1), TcpFile("cubic", 8), TcpFile("bbr", 8), Iperf("cubic", 1), Iperf("bbr", 1),
            Iperf("cubic", 8), Iperf("bbr", 8), BarePath()])
        with opened(Loopback()) as path:
            s.result["parameters"]["path"] = path.description
            s.compare(path, "loopback", contestants, s.source(s.mebibytes(1024)), 120)

    def markdown(self, r):
        def times(value, base):
            return f"{number(value / base)}" if value and base else "-"

        tuned = r.median("loopback", "tuned", goodput)
        tuned_cpu = r.median("loopback", "tuned", cpu_per_gb)
        bare = r.median("loopback", "bare", goodput)
        rows = []
        for key in r.contestants():
            rate = r.median("loopback", key, goodput)
            rows.append([r.name(key), r.cell("loopback", key, goodput), r.cell("loopback", key, cpu_per_gb),
                         times(rate, tuned), times(r.median("loopback", key, cpu_per_gb), tuned_cpu),
                         times(rate, bare)])
        return markdown(["", "Gbit/s", "CPU s per GB", "rate / tuned stock", "CPU / tuned stock",
                         "rate / bare ceiling"], rows)

    def plots(self, r):
        keys = r.contestants()
        return {"": svg.bars(self.title, "Gbit/s", keys,
                             {"goodput": [r.median("loopback", k, goodput) for k in keys]})}
