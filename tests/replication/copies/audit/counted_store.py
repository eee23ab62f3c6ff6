"""A store in place of a remote one: a local directory under `memory://`, of which each reading of a file is counted."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyarrow import fs

SCHEME = "memory://"


class CountedStore:
    """What `Storage` asks of pyarrow's file systems."""

    def __init__(self) -> None:
        self._files = fs.LocalFileSystem()
        self.read: Counter[str] = Counter()
        """How often each file was opened, by its path."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def open_input_stream(self, path: str) -> Any:
        self.read[path] += 1
        return self._files.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        self.read[path] += 1
        return self._files.open_input_file(path)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let all addresses that begin with SCHEME be here."""
        with patch.object(fs, "FileSystem", self):
            yield

    def from_uri(self, uri: str) -> tuple["CountedStore", str]:
        return self, uri.removeprefix(SCHEME)

    def address(self, path: Path) -> str:
        return f"{SCHEME}{path}"
