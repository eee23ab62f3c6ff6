"""A new file or directory that somebody has named, of which there is nothing until it is whole."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from epoch.filesystem import REAL, new_part
from epoch.resource_limits import OUT_OF_SPACE


@contextmanager
def new_target(path: Path, what: str, refuse: Callable[[Path, str], Exception]) -> Iterator[Path]:
    """Give the path of what is to be made and written, which takes the name `path` once the block is over.

    Until then it is hidden, and its name ends in `.part`. `what` is what it is called, such as "a directory". Raises
    what `refuse` makes of the path and a reason where `path` has come to exist or the disk is full, and OSError: then,
    or where the block raises, nothing of it is left.
    """
    part = new_part(path)
    try:
        yield part
        if os.path.lexists(path):
            raise refuse(path, f"exists by now; name {what} that does not exist yet")
        if part.is_dir():
            REAL.fsync_directory(part)
        REAL.rename(part, path)
        REAL.fsync_directory(path.absolute().parent)
    except OSError as error:
        if error.errno not in OUT_OF_SPACE:
            raise
        advice = f"nothing of it is left; make space, or name {what} on another disk, and run it again"
        raise refuse(path, f"the disk is full: {advice}") from error
    finally:
        if part.is_dir():
            REAL.remove_tree(part)
        else:
            part.unlink(missing_ok=True)
