"""The driver behind scripts/bench: measures tables, renders results."""

import argparse
import json
import os
import re
import shlex
import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import paths  # noqa: E402
from harness.process import Process  # noqa: E402
from harness.results import Result  # noqa: E402
from harness.session import Session, save  # noqa: E402
from tables import TABLES  # noqa: E402


DEFAULT_RUNS = 5


def text(table, raw):
    """A result as markdown under a heading."""
    return f"## {table.title}\n\n{body(table, raw)}"


def body(table, raw):
    """A result as markdown: conditions, machine, command, table."""
    result = Result(raw)
    runs = max([len(result.of(row, key)) for row in result.rows() for key in result.contestants(row)], default=0)
    parts = [table.conditions,
             f"{raw['machine']}; revision {raw['revision']}; {raw['started']}; `{raw['command']}`; " +
             (f"a file of {size} MiB; " if (size := raw["parameters"].get("mebibytes")) else "") +
             f"{runs} run{'s' if runs != 1 else ''}, median (min ... max)."]
    parts += [table.markdown(result)] if result.rows() else ["Nothing was measured."]
    parts += [f"Not run: {line}." for line in result.missing()]
    parts += [f"{row}: the emulator lost {lost} packets that it should not have."
              for row, lost in result.emulator_losses().items()]
    return "\n\n".join(parts) + "\n"


def write_output(table, raw, folder):
    """NAME.json, NAME.md and the plots NAME[-part].svg."""
    save(raw, folder)
    (folder / f"{table.name}.md").write_text(text(table, raw), encoding="utf-8")
    for name, plot in plots(table, raw).items():
        (folder / name).write_text(plot, encoding="utf-8")


def plots(table, raw):
    """{file name: SVG text}"""
    result = Result(raw)
    drawn = table.plots(result) if result.rows() else {}
    return {f"{table.name}-{part}.svg" if part else f"{table.name}.svg": plot for part, plot in drawn.items()}


def command(name, options):
    """The words that repeat this table's run."""
    words = ["scripts/bench", name]
    if options.runs != DEFAULT_RUNS:
        words += ["--runs", str(options.runs)]
    if options.quick:
        words.append("--quick")
    for key in options.only or []:
        words += ["--only", key]
    if options.mebibytes:
        words += ["--mebibytes", str(options.mebibytes)]
    for option in ("xfer_send", "xfer_recv", "sim"):
        if getattr(options, option):
            words.append(f"--{option.replace('_', '-')}={' '.join(getattr(options, option))}")
    return shlex.join(words)


def measure(name, options):
    """Measures one table, keeping what there is when it is interrupted; returns whether it was whole."""
    table, begin = TABLES[name], time.monotonic()
    print(f"{name}: about {table.minutes(options.runs):.0f} min", file=sys.stderr, flush=True)
    with paths.work_folder(options.work) as folder:
        session = Session(table, options, folder, command(name, options))
        try:
            table.measure(session)
        finally:
            Process.stop_all()
            session.result["minutes"] = round((time.monotonic() - begin) / 60, 1)
            write_output(table, session.result, options.out)
    print(text(table, session.result), flush=True)
    return all("failed" not in r or "over_s" in r or not r["row"] for r in session.result["records"])


def results_in(folder):
    """(table, result) of each table measured into a folder."""
    for name, table in TABLES.items():
        file = folder / f"{name}.json"
        if file.exists():
            yield table, json.loads(file.read_text(encoding="utf-8"))


def render(folder):
    """Writes texts and plots of all results in a folder again and prints the texts."""
    found = False
    for table, raw in results_in(folder):
        found = True
        write_output(table, raw, folder)
        print(text(table, raw))
    return found


def fill(document, name, content):
    """Puts `content` between the lines `<!-- bench: NAME -->` and `<!-- /bench -->`. Pure."""
    pattern = rf"(<!-- bench: {re.escape(name)} -->\n).*?(<!-- /bench -->)"
    return re.sub(pattern, lambda m: f"{m[1]}\n{content}\n{m[2]}", document, flags=re.DOTALL)


def publish(folder, file):
    """Puts the results in `folder` into a document that has places for them, and their plots into
    the folder `plots` beside it."""
    document = file.read_text(encoding="utf-8")
    for table, raw in results_in(folder):
        if f"<!-- bench: {table.name} -->" not in document:
            continue
        content = body(table, raw)
        for name, plot in plots(table, raw).items():
            (file.parent / "plots").mkdir(exist_ok=True)
            (file.parent / "plots" / name).write_text(plot, encoding="utf-8")
            content += f"\n![{table.title}](plots/{name})\n"
        document = fill(document, table.name, content)
        print(f"{file}: {table.name}")
    file.write_text(document, encoding="utf-8")


def parse(arguments):
    width = max(map(len, TABLES))
    listing = "\n".join(f"  {name:{width}}  {t.title} ({t.minutes(DEFAULT_RUNS):.0f} min)" for name, t in TABLES.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures xfer beside its peers. Tables (time for 5 runs):\n" + listing +
        "\n  all\n\nResults: DIR/TABLE.json, .md, .svg. `render DIR` prints those in DIR again; `publish DIR "
        "FILE...` puts them into documents.")
    parser.add_argument("tables", nargs="+", metavar="TABLE", help="tables, or `all`")
    parser.add_argument("--runs", type=int, default=DEFAULT_RUNS, metavar="N",
                        help=f"of everything, in alternating order (default {DEFAULT_RUNS})")
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
    if options.tables[0] in ("render", "publish"):
        if len(options.tables) < 2 or (options.tables[0] == "render") != (len(options.tables) == 2):
            parser.error("`render DIR` or `publish DIR FILE...`")
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
    if options.tables[0] == "publish":
        for document in options.tables[2:]:
            publish(Path(options.tables[1]), Path(document))
        return 0
    # Asked to stop: undo what was set up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    total = sum(TABLES[name].minutes(options.runs) for name in options.tables)
    print(f"{len(options.tables)} tables, about {total:.0f} min", file=sys.stderr, flush=True)
    whole = True
    for name in options.tables:
        try:
            whole = measure(name, options) and whole
        except Exception:  # the other tables are still wanted
            traceback.print_exc()
            whole = False
    return 0 if whole else 1


if __name__ == "__main__":
    os.umask(0o022)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
