"""Reading a result: what was measured of whom, and cells of a table made of it. Pure."""

from .figures import spread


class Result:
    def __init__(self, result):
        self.raw = result
        self.records = result["records"]

    def rows(self):
        """In the order of measuring."""
        return list(dict.fromkeys(r["row"] for r in self.records if r["row"]))

    def contestants(self, row=None):
        """Keys, sorted as they were first measured in that row or in any."""
        return list(dict.fromkeys(r["contestant"] for r in self.records
                                  if r["row"] and row in (None, r["row"])))

    def name(self, key):
        return self.raw["names"].get(key, key)

    def of(self, row, contestant):
        return [r for r in self.records if r["row"] == row and r["contestant"] == contestant]

    def values(self, row, contestant, figure):
        """figure: a key, or a function of a record; of the runs that have it and did not fail."""
        get = figure if callable(figure) else lambda r: r.get(figure)
        found = [get(r) for r in self.of(row, contestant) if "failed" not in r]
        return [v for v in found if v is not None]

    def median(self, row, contestant, figure):
        """Median, or None without values."""
        values = sorted(self.values(row, contestant, figure))
        middle = len(values) // 2
        if not values:
            return None
        return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2

    def cell(self, row, contestant, figure, show=spread):
        """The figure's spread; behind it how many runs failed, or why, if all did. `-`: not run."""
        records = self.of(row, contestant)
        if not records:
            return "-"
        failed = [r["failed"] for r in records if "failed" in r]
        values = self.values(row, contestant, figure)
        if not values:
            return failed[0] if failed else "-"
        return show(values) + (f", {len(failed)} of {len(records)} failed" if failed else "")

    def missing(self):
        """`name: why` of those that could not be run here."""
        return [f"{self.name(r['contestant'])}: {r['failed']}" for r in self.records if not r["row"]]

    def emulator_losses(self):
        """{row: packets} that the lab's emulator dropped because it could not keep up, not because it was
        told to: such a row is not what it says."""
        found = {}
        for row, ways in self.raw.get("lab", {}).items():
            lost = sum(ways[way]["dropped"].get(cause, 0) for way in ("a_to_b", "b_to_a")
                       for cause in ("device", "memory", "write"))
            if lost:
                found[row] = lost
        return found
