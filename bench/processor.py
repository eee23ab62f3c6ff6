"""What work costs the processors, whichever process does it."""

import os
from pathlib import Path


def processor_seconds() -> float:
    """The processor time of this process and of all below it: Java, and its Python workers, those that ended too."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        number = int(stat.parent.name)
        parents[number] = int(fields[1])
        ticks[number] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while below := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= below
    return sum(ticks[number] for number in ours) / os.sysconf("SC_CLK_TCK")
