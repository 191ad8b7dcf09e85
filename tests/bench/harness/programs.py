"""Where the programs are."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("XFER_BUILD_DIR", ROOT / "build/release"))


def xfer():
    return os.environ.get("XFER_BINARY", BUILD / "src/cli/xfer")


def netlab():
    """The lab's emulator; XFER_NETLAB names another."""
    return os.environ.get("XFER_NETLAB", BUILD / "tests/netlab/netlab")


def bench(name):
    """A program of tests/bench."""
    return BUILD / "tests/bench" / name


def interop(name):
    """A program of tests/interop."""
    return BUILD / "tests/interop" / name


def script(name):
    """A Python program of tests/bench."""
    return ROOT / "tests/bench" / name


def missing(names):
    """Those of the named commands that are not installed."""
    return [n for n in names if not (shutil.which(n) or shutil.which(n, path="/usr/sbin:/sbin"))]
