import time

from harness import svg
from harness.contestants import TcpFile, tuned_stock
from harness.figures import jain_index, rate_between, rates, rotated, spread
from harness.text_table import markdown

from .table import Table

RATE = 100e6
RTT_MS = 20


def percent(values):
    return spread([v * 100 for v in values])


class FairnessTable(Table):
    name = "fairness"
    title = "Sharing 100 Mbit/s, RTT 20 ms"
    conditions = ("Lab, queue of one bandwidth-delay product. Alone, and beside one TCP cubic flow, for 60 s: share of "
                  "the two flows' goodput after the first 10 s, and the mean length of the queue in bandwidth-delay "
                  "products. Then two flows of the same program, one with 80 ms more of round trip "
                  "(by a proxy behind the shared queue): goodputs and Jain's index over the second minute.")

    def minutes(self, runs):
        return 0.5 + runs * (3 * 1.05 + 4 * 1.05 + 2 * 2.05)

    def measure(self, s):
        contestants = s.usable([s.xfer(), TcpFile("bbr", 1), tuned_stock()])
        twins = s.usable([s.xfer(), tuned_stock()])
        with s.lab("all", RATE, RTT_MS) as path:
            for number in range(s.runs):
                for contestant in rotated(contestants, number):
                    self.beside(s, path, [contestant])
                    self.beside(s, path, [contestant, TcpFile("cubic", 1)])
                self.beside(s, path, [renamed(TcpFile("cubic", 1), "cubic", "TCP cubic"),
                                      TcpFile("cubic", 1)])
                for contestant in rotated(twins, number):
                    self.two(s, path, contestant)

    def beside(self, s, path, contestants):
        """contestants: one alone, or one and the cubic flow."""
        first = contestants[0]
        seconds, begin = (15, 5) if s.options.quick else (60, 10)
        row = "alone" if len(contestants) == 1 else "beside cubic"
        queue = []
        try:
            watched = s.watch(path, contestants, seconds,
                              during=lambda: queue.append(self.mean_queue(path, seconds - begin - 0.5, begin)))
        except RuntimeError as error:
            s.record(row, first, failed="ended early", output=str(error)[-1000:])
            return
        got = [rate_between(samples, begin, seconds) * 8 for samples, _ in watched]
        s.record(row, first, mbit_per_s=got[0] / 1e6, share=got[0] / max(1, sum(got)),
                 utilisation=sum(got) / RATE, standing_queue_bdp=queue[0],
                 over_time=[[(round(t, 2), round(v * 8 / 1e6, 2)) for t, v in rates(samples, 1)]
                            for samples, _ in watched])

    @staticmethod
    def mean_queue(path, seconds, pause):
        """Mean length of the queue towards the receiver, in bandwidth-delay products, over `seconds`
        that begin after a pause."""
        time.sleep(pause)
        begin, before = time.monotonic(), path.queued_byte_seconds()
        time.sleep(seconds)
        return (path.queued_byte_seconds() - before) / (time.monotonic() - begin) / path.bdp

    @staticmethod
    def two(s, path, contestant):
        """Two flows of one program, the second with 80 ms more."""
        near = renamed(s.xfer() if contestant.key == "xfer" else tuned_stock(), f"{contestant.key}-near", "")
        far = renamed(s.xfer() if contestant.key == "xfer" else tuned_stock(), f"{contestant.key}-far", "")
        seconds, begin = (30, 15) if s.options.quick else (120, 60)
        try:
            watched = s.watch(path, [near, far], seconds, proxies={far.key: ["--delay-ms", "40"]})
        except RuntimeError as error:
            s.record("RTT 20 and 100 ms", contestant, failed="ended early", output=str(error)[-1000:])
            return
        got = [rate_between(samples, begin, seconds) * 8 for samples, _ in watched]
        s.record("RTT 20 and 100 ms", contestant, jain=jain_index(got), near_mbit_per_s=got[0] / 1e6,
                 far_mbit_per_s=got[1] / 1e6,
                 over_time=[[(round(t, 2), round(v * 8 / 1e6, 2)) for t, v in rates(samples, 1)]
                            for samples, _ in watched])

    def markdown(self, r):
        one = markdown(["", "alone: % of the link", "alone: queue, BDP", "beside cubic: % of the two",
                        "beside cubic: both, % of the link", "beside cubic: queue, BDP"],
                       [[r.name(k), r.cell("alone", k, "utilisation", percent),
                         r.cell("alone", k, "standing_queue_bdp"), r.cell("beside cubic", k, "share", percent),
                         r.cell("beside cubic", k, "utilisation", percent),
                         r.cell("beside cubic", k, "standing_queue_bdp")]
                        for k in r.contestants("beside cubic")])
        row = "RTT 20 and 100 ms"
        two = markdown(["two flows", "RTT 20 ms, Mbit/s", "RTT 100 ms, Mbit/s", "Jain's index"],
                       [[r.name(k), r.cell(row, k, "near_mbit_per_s"), r.cell(row, k, "far_mbit_per_s"),
                         r.cell(row, k, "jain")] for k in r.contestants(row)])
        return f"{one}\n\n{two}"

    def plots(self, r):
        plots = {}
        for row, names in (("beside cubic", ("xfer", "TCP cubic")),
                           ("RTT 20 and 100 ms", ("RTT 20 ms", "RTT 100 ms"))):
            runs = r.values(row, "xfer", "over_time")
            if runs:
                plots[row.replace(" ", "-")] = svg.lines(
                    f"xfer, {row}: first run", "seconds", "Mbit/s", dict(zip(names, runs[0])))
        return plots


def renamed(contestant, key, title):
    contestant.key, contestant.title = key, title
    return contestant
