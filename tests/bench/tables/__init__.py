"""The tables, in the order of `scripts/bench all`."""

from .fairness import FairnessTable
from .jitter import JitterTable
from .loopback import LoopbackTable
from .lossy import LossyTable
from .outage import OutageTable
from .paper import PaperFigure6, PaperFigure7, PaperFigure8, PaperTable1, PaperTable2
from .repeats import RepeatsTable
from .rtts import RttsTable
from .sim import SimTable
from .syscalls import SyscallsTable

TABLES = {table.name: table for table in (
    LoopbackTable(), SyscallsTable(), LossyTable(), RttsTable(), FairnessTable(), JitterTable(),
    RepeatsTable(), OutageTable(), SimTable(), PaperTable1(), PaperTable2(), PaperFigure6(),
    PaperFigure7(), PaperFigure8())}
