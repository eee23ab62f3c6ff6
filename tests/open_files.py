"""What this process has open.

How many descriptors there are is no measure: clients of earlier tests may still open sockets, and collected objects
close theirs.
"""

from contextlib import suppress
from pathlib import Path


def open_files(place: Path) -> list[str]:
    """Name what descriptors lead to at `place` or below it, once for each descriptor, deleted files too."""
    return [target for _, target in descriptors() if Path(target).is_relative_to(place.resolve())]


def descriptors() -> set[tuple[str, str]]:
    """Return the number of each descriptor and what it leads to; sockets are told from each other."""
    found = set()
    for each in Path("/dev/fd").iterdir():
        with suppress(OSError):  # the one that lists them is closed by now
            found.add((each.name, str(each.readlink())))
    return found
