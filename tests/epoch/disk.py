"""A disk that can crash, in the place of `epoch.filesystem.FileSystem`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from epoch.filesystem import FileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass
class Inode:
    """A file's bytes: those on stable storage, and those that a crash may take."""

    durable: bytes = b""
    volatile: bytes = b""
    synced: bool = True

    def contents(self) -> set[bytes]:
        """What a crash may leave: the last durable bytes, or any part of what was written since."""
        if self.synced:
            return {self.durable}
        return {self.durable} | {self.volatile[:end] for end in range(len(self.volatile) + 1)}


class CrashingDisk(FileSystem):
    """Keeps files in memory, and knows after each step what a crash could leave of one of them.

    Names change in the order that they were changed in, and a crash may take any last part of these changes.
    Written bytes may be lost in part until they are synced. Who is in `watchers` is called after each step.
    """

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.watchers: list[Callable[[], object]] = []
        self._possible_names: list[dict[Path, Inode]] = [{}]
        self._descriptors: dict[int, Inode] = {}
        self._numbers = count()

    def after_crash(self, path: Path) -> set[bytes | None]:
        """All that a crash at this moment may leave at `path`; None for no file."""
        states: set[bytes | None] = set()
        for names in self._possible_names:
            states |= names[path].contents() if path in names else {None}
        return states

    def open(self, path: Path, *, truncate: bool = False) -> int:
        names = self._possible_names[-1]
        if path not in names:
            self._possible_names.append({**names, path: Inode()})
        inode = self._possible_names[-1][path]
        if truncate:
            inode.volatile, inode.synced = b"", False
        number = next(self._numbers)
        self._descriptors[number] = inode
        self._did("open")
        return number

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        inode = self._descriptors[descriptor]
        inode.volatile, inode.synced = inode.volatile + bytes(data), False
        self._did("write")

    def fsync(self, descriptor: int) -> None:
        inode = self._descriptors[descriptor]
        inode.durable, inode.synced = inode.volatile, True
        self._did("fsync")

    def close(self, descriptor: int) -> None:
        del self._descriptors[descriptor]
        self._did("close")

    def rename(self, source: Path, target: Path) -> None:
        names = dict(self._possible_names[-1])
        names[target] = names.pop(source)
        self._possible_names.append(names)
        self._did("rename")

    def fsync_directory(self, path: Path) -> None:
        del self._possible_names[:-1]
        self._did(f"fsync {path.name}")

    def _did(self, step: str) -> None:
        self.steps.append(step)
        for watcher in self.watchers:
            watcher()
