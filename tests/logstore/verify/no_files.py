"""What may stand where a file belongs, and cannot be read as one."""

import os
from collections.abc import Callable
from pathlib import Path


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def link_to_nothing_outside(path: Path) -> None:
    path.symlink_to("../../../nothing")


NO_FILES: list[Callable[[Path], None]] = [link_to_itself, link_to_nothing, link_to_nothing_outside, os.mkfifo]
