"""A copy that a command makes and then changes, of which nothing is left where that fails."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from epoch.base.resource_limits import OUT_OF_SPACE
from epoch.filesystem import REAL
from replication.cli.output.failure import CommandError


class FullDiskError(CommandError):
    """The disk is full that a command writes to."""

    def __init__(self, place: Path, advice: str) -> None:
        """Create it with the place that the command writes to, what is left there and what to do next."""
        super().__init__(f"{place}: the disk is full: {advice}")
        self.file = place


@contextmanager
def new_copy(target: Path) -> Iterator[None]:
    """Remove what the block makes at `target`, and the directories above it that it makes, where the block raises.

    Raises FileExistsError where there is something by this name, and FullDiskError in the place of a full disk's error.
    """
    if os.path.lexists(target):
        raise FileExistsError(f"{target} already exists; name a directory that does not exist yet")
    missing = [place for place in target.absolute().parents if not place.exists()]
    try:
        yield
    except BaseException as error:
        if target.is_dir():
            REAL.remove_tree(target)
        for place in missing:
            with suppress(OSError):  # never made, or in use by now
                place.rmdir()
        if is_full_disk(error):
            advice = "nothing of the copy is left; make space, or name a directory on another disk, and run it again"
            raise FullDiskError(target, advice) from error
        raise


def is_full_disk(error: BaseException | None) -> bool:
    """Whether an error, or one that it is raised from, is that of a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in OUT_OF_SPACE:
            return True
        error = error.__cause__
    return False
