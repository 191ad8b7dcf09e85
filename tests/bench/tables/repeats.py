from harness import svg
from harness.contestants import Stock, summary_event, tuned_stock
from harness.figures import longest_pause, rate_between, rates, rotated
from harness.text_table import markdown

from .table import Table, counter

RATE = 1e9


def recovery_contestants(s):
    return [s.xfer("on", "xfer, early repair"),
            s.xfer("off", "xfer, --audt-recovery off", both=["--audt-recovery", "off"]), Stock(), tuned_stock()]


def watch_repeats(s, path, contestant, seconds, interval):
    """Runs one; returns its samples and a record's figures."""
    [(samples, output)] = s.watch(path, [contestant], seconds, interval)
    begin = 2
    sender = summary_event(output[0])
    return samples, {
        "mbit_per_s": rate_between(samples, begin, seconds) * 8 / 1e6,
        "pause_rtts": longest_pause(samples, begin, samples[-1][0]) / (path.rtt_ms / 1e3),
        "timeouts": counter(sender, "exp_fired", "timeouts")}


class RepeatsTable(Table):
    name = "repeats"
    title = "Lost retransmissions: every 50th packet is lost three times"
    conditions = ("Lab at 1 Gbit/s that drops every 50th data packet and its first two retransmissions; 30 s. "
                  "Longest time without goodput after the first 2 s, in round trips; times the sender fell back to "
                  "sending everything in flight again (stock does not tell).")

    def minutes(self, runs):
        return runs * 2 * 4 * 0.6

    def measure(self, s):
        contestants = s.usable(recovery_contestants(s))
        seconds = 10 if s.options.quick else 30
        for rtt in (10, 100):
            row = f"RTT {rtt} ms"
            with s.lab(row, RATE, rtt, udt_drop=(50, 2)) as path:
                for number in range(s.runs):
                    for contestant in rotated(contestants, number):
                        self.one(s, path, contestant, seconds, row)

    @staticmethod
    def one(s, path, contestant, seconds, row):
        try:
            samples, figures = watch_repeats(s, path, contestant, seconds, 0.002)
        except RuntimeError as error:
            s.record(row, contestant, failed="ended early", output=str(error)[-1000:])
            return
        s.record(row, contestant, **figures,
                 over_time=[(round(t, 2), round(v * 8 / 1e6, 2)) for t, v in rates(samples, 0.1)])

    def markdown(self, r):
        header = [""]
        for row in r.rows():
            header += [f"{row}: pause, RTTs", f"{row}: time-outs", f"{row}: Mbit/s"]
        return markdown(header, [
            [r.name(k), *(r.cell(row, k, figure) for row in r.rows()
                          for figure in ("pause_rtts", "timeouts", "mbit_per_s"))] for k in r.contestants()])

    def plots(self, r):
        return {row.replace(" ", "-"): svg.lines(
            f"{self.title}, {row}: first run", "seconds", "Mbit/s",
            {r.name(k): runs[0] for k in r.contestants() if (runs := r.values(row, k, "over_time"))})
            for row in r.rows()}
