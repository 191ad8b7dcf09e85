"""The driver behind scripts/bench: measures tables, renders results."""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import paths  # noqa: E402
from harness.process import Process  # noqa: E402
from harness.results import Result  # noqa: E402
from harness.session import Session, save  # noqa: E402
from tables import TABLES  # noqa: E402


def text(table, raw):
    """A result as markdown: conditions, machine, command, table."""
    result = Result(raw)
    runs = max([len(result.of(row, key)) for row in result.rows() for key in result.contestants(row)], default=0)
    parts = [f"## {table.title}", table.conditions,
             f"{raw['machine']}; revision {raw['revision']}; {raw['started']}; `{raw['command']}`; "
             f"{runs} run{'s' if runs != 1 else ''}, median (min ... max)."]
    parts += [table.markdown(result)] if result.rows() else ["Nothing was measured."]
    parts += [f"Not run: {line}." for line in result.missing()]
    return "\n\n".join(parts) + "\n"


def write_output(table, raw, folder):
    """NAME.json, NAME.md and the plots NAME[-part].svg."""
    save(raw, folder)
    (folder / f"{table.name}.md").write_text(text(table, raw), encoding="utf-8")
    for part, plot in table.plots(Result(raw)).items() if Result(raw).rows() else ():
        suffix = f"-{part}" if part else ""
        (folder / f"{table.name}{suffix}.svg").write_text(plot, encoding="utf-8")


def measure(name, options):
    """Measures one table, keeping what there is when it is interrupted; returns whether it was whole."""
    table, begin = TABLES[name], time.monotonic()
    print(f"{name}: about {table.minutes(options.runs):.0f} min", file=sys.stderr, flush=True)
    with paths.work_folder(options.work) as folder:
        session = Session(table, options, folder)
        try:
            table.measure(session)
        finally:
            Process.stop_all()
            session.result["minutes"] = round((time.monotonic() - begin) / 60, 1)
            write_output(table, session.result, options.out)
    print(text(table, session.result), flush=True)
    return all("failed" not in r or "over_s" in r or not r["row"] for r in session.result["records"])


def render(folder):
    """Writes texts and plots of all results in a folder again and prints the texts."""
    found = False
    for name, table in TABLES.items():
        file = folder / f"{name}.json"
        if file.exists():
            found = True
            raw = json.loads(file.read_text(encoding="utf-8"))
            write_output(table, raw, folder)
            print(text(table, raw))
    return found


def parse(arguments):
    width = max(map(len, TABLES))
    listing = "\n".join(f"  {name:{width}}  {t.title} ({t.minutes(5):.0f} min)" for name, t in TABLES.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures xfer beside its peers. Tables (time for 5 runs):\n" + listing +
        "\n  all\n\n`render DIR` prints the results in DIR again. Results: DIR/TABLE.json, .md, .svg.")
    parser.add_argument("tables", nargs="+", metavar="TABLE", help="tables, `all`, or `render DIR`")
    parser.add_argument("--runs", type=int, default=5, help="of everything, in alternating order (default 5)")
    parser.add_argument("--quick", action="store_true", help="one run, smaller sizes, shorter times: is it working?")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), metavar="DIR", help="default build/bench")
    parser.add_argument("--only", action="append", metavar="KEY", help="only this contestant; may be repeated")
    parser.add_argument("--mebibytes", type=int, help="another size of file")
    parser.add_argument("--work", default="/dev/shm", metavar="DIR", help="where files are; a tmpfs (default /dev/shm)")
    for name, what in (("xfer-send", "`xfer send`"), ("xfer-recv", "`xfer recv`"), ("sim", "sim_bench")):
        parser.add_argument(f"--{name}", default="", metavar="WORDS", help=f"more arguments of {what}, as one word")
    options = parser.parse_args(arguments)
    for name in ("xfer_send", "xfer_recv", "sim"):
        setattr(options, name, getattr(options, name).split())
    if options.tables[0] == "render":
        if len(options.tables) != 2:
            parser.error("render needs one DIR")
        return options
    if options.tables == ["all"]:
        options.tables = list(TABLES)
    for name in options.tables:
        if name not in TABLES:
            parser.error(f"no table '{name}'")
    if options.runs < 1:
        parser.error("--runs: at least 1")
    return options


def main(arguments):
    options = parse(arguments)
    if options.tables[0] == "render":
        return 0 if render(Path(options.tables[1])) else 1
    # Asked to stop: undo what was set up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    total = sum(TABLES[name].minutes(options.runs) for name in options.tables)
    print(f"{len(options.tables)} tables, about {total:.0f} min", file=sys.stderr, flush=True)
    whole = True
    for name in options.tables:
        try:
            whole = measure(name, options) and whole
        except (RuntimeError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            whole = False
    return 0 if whole else 1


if __name__ == "__main__":
    os.umask(0o022)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
