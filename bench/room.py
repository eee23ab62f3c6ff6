"""Whether there is room for a measurement: on a machine that swaps, or whose disk is full, figures are wrong."""

import shutil
from pathlib import Path
from typing import Final

from tests.conftest import require

BUILD: Final = Path(__file__).parent.parent / "build/bench"
SPARE: Final = 1 << 30
"""Bytes that are left to all others."""
_MEMORY: Final = Path("/proc/meminfo")


def lacking(*, disk: int = 0, memory: int = 0) -> str:
    """Return what is missing to write so many bytes below build/bench and hold so many in memory; "" if nothing is."""
    BUILD.mkdir(parents=True, exist_ok=True)
    wants = [("disk below build/bench", disk, shutil.disk_usage(BUILD).free), ("memory", memory, free_memory())]
    return "; ".join(
        f"{_gib(wanted + SPARE)} of {what} are needed, {_gib(free)} are free"
        for what, wanted, free in wants
        if wanted and free is not None and wanted + SPARE > free
    )


def require_room(*, disk: int = 0, memory: int = 0) -> None:
    """Skip a benchmark for which there is no room, with the reason."""
    reason = lacking(disk=disk, memory=memory)
    require(available=not reason, what=f"room ({reason})")


def free_memory() -> int | None:
    """Bytes that programs may take before the system swaps; None where it does not tell."""
    if not _MEMORY.exists():
        return None
    fields = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
    return int(fields["MemAvailable"].split()[0]) << 10


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
