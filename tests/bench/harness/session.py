"""One run of a table: its options, its records, its progress on standard error, its result."""

import datetime
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

from . import programs
from .contestants import Contestant, Growth, Job, Transfer, Xfer
from .figures import rotated
from .paths import Lab, machine, opened

VERSION = 1  # of the JSON result


class Session:
    """Collects records: flat dictionaries with `row`, `contestant` and either figures or `failed`."""

    def __init__(self, table, options, folder, command):
        self.options, self.folder = options, folder
        self.result = {
            "version": VERSION, "table": table.name, "title": table.title,
            "command": command,
            "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": machine(), "revision": revision(), "quick": options.quick,
            "names": {}, "parameters": {}, "records": []}

    @property
    def runs(self):
        return 1 if self.options.quick else self.options.runs

    def mebibytes(self, full):
        """Size of the file: `full`, or a sixteenth of it for a quick run."""
        return self.options.mebibytes or (max(16, full // 16) if self.options.quick else full)

    def record(self, row, contestant, **figures):
        """contestant: an object with key and title, or a word that is both."""
        key, title = (contestant,) * 2 if isinstance(contestant, str) else (contestant.key, contestant.title)
        self.result["names"][key] = title
        self.result["records"].append({"row": row, "contestant": key, **figures})
        shown = figures.get("failed") or " ".join(
            f"{k}={v:.4g}" for k, v in figures.items() if isinstance(v, (int, float)))
        print(f"  {row} | {key}: {shown}", file=sys.stderr, flush=True)
        if "output" in figures:
            print(figures["output"], file=sys.stderr, flush=True)

    def usable(self, contestants):
        """Those chosen by --only that can be run here; the others are recorded as missing."""
        chosen = [c for c in contestants if not self.options.only or c.key in self.options.only]
        for contestant in chosen:
            if contestant.unusable():
                self.record("", contestant, failed=contestant.unusable())
        return [c for c in chosen if not c.unusable()]

    def source(self, mebibytes):
        """A file of pseudo-random bytes, made once; another size replaces it."""
        file = self.folder / "source.bin"
        self.result["parameters"]["mebibytes"] = mebibytes
        if not file.exists() or file.stat().st_size != mebibytes << 20:
            with open(file, "wb") as handle:
                for _ in range(mebibytes):
                    handle.write(os.urandom(1 << 20))
        return file

    def endless(self):
        """A file that no transfer gets to the end of: 4 TiB of zeros that take no room."""
        file = self.folder / "endless.bin"
        with open(file, "wb") as handle:
            handle.truncate(4 << 40)
        return file

    def target(self, name="target"):
        """An empty directory to receive into."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    @contextmanager
    def lab(self, row, *arguments, **options):
        """A paths.Lab; its counters are kept with the result."""
        with opened(Lab(*arguments, **options)) as path:
            yield path
            self.result.setdefault("lab", {})[row] = path.counters()

    def xfer(self, key="xfer", title="xfer", send=(), receive=(), both=()):
        """Our command with these options and those that this run was told to give it."""
        given = self.options
        return Xfer(key, title, [*both, *send, *given.xfer_send], [*both, *receive, *given.xfer_recv])

    def compare(self, path, row, contestants, source, limit):
        """Moves `source` with every contestant, `runs` times each in alternating order. One that does
        not finish within its limit, or `limit` seconds, is tried twice only."""
        given_up = {}
        for number in range(self.runs):
            for contestant in rotated(contestants, number):
                if given_up.get(contestant.key, 0) >= 2:
                    continue
                figures = self.transfer(Job(path, source, self.target(), contestant.limit or limit), contestant)
                if "over_s" in figures:
                    given_up[contestant.key] = given_up.get(contestant.key, 0) + 1
                self.record(row, contestant, **figures)
        self.target()

    def transfer(self, job, contestant: Contestant, **wrap):
        """One transfer to its end, as a record; whatever goes wrong is one too."""
        try:
            with Transfer(contestant, job, **wrap) as transfer:
                return transfer.finish()
        except (RuntimeError, OSError, ValueError, LookupError) as error:
            return {"failed": "did not start", "output": f"{type(error).__name__}: {error}"[-2000:]}

    def watch(self, path, contestants, seconds, interval=0.05, during=lambda: None, proxies=None):
        """Lets transfers without end run side by side for `seconds`, in which `during` is called.

        proxies: {key of a contestant: options of the impairment proxy in its way}.
        Returns for each contestant the growth of its received file, [(seconds, bytes)] from the common
        start, and what its two processes printed. RuntimeError: one ended by itself."""
        proxies = proxies or {}
        with ExitStack() as running:
            transfers, growths = [], []
            begin = time.monotonic()
            for contestant in contestants:
                job = Job(path, self.endless(), self.target(f"target-{contestant.key}"), seconds + 60)
                transfer = Transfer(contestant, job, proxy=proxies.get(contestant.key))
                transfers.append(running.enter_context(transfer))
                growths.append(Growth(job.target, interval, begin))
            during()
            time.sleep(max(0, begin + seconds - time.monotonic()))
            early = [t for t in transfers if t.second.ended()]
            watched = [(g.stop(), t.interrupt()) for g, t in zip(growths, transfers)]
        for contestant in contestants:
            shutil.rmtree(self.folder / f"target-{contestant.key}")
        if early:
            raise RuntimeError(f"{early[0].contestant.key} ended by itself:\n{early[0].second.output()}")
        return watched


def revision():
    """The commit that is measured, with a mark if files differ from it."""
    found = subprocess.run(["git", "-C", programs.ROOT, "describe", "--always", "--dirty"],
                           capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def save(result, folder):
    os.makedirs(folder, exist_ok=True)
    with open(folder / f"{result['table']}.json", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
