"""The files of a place that this process has open.

All descriptors are no measure: clients of earlier tests may still open sockets, and collected objects close theirs.
"""

from contextlib import suppress
from pathlib import Path


def open_files(place: Path) -> list[str]:
    """Name what descriptors lead to at `place` or below it, once for each descriptor, deleted files too."""
    targets = [_target(descriptor) for descriptor in Path("/dev/fd").iterdir()]
    return [target for target in targets if Path(target).is_relative_to(place.resolve())]


def _target(descriptor: Path) -> str:
    with suppress(OSError):  # the one that listed them is closed by now
        return str(descriptor.readlink())
    return ""
