"""What a store or a disk says of a file without reading it."""

from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo


class StoredFile(NamedTuple):
    """What changes with a file's contents."""

    size: int
    """Bytes."""
    modified_ns: int
    """Nanoseconds since 1970 UTC."""


class StoredEntry(NamedTuple):
    """A file or a directory in a remote one."""

    path: str
    type: str
    """As pyarrow's FileType names it."""
    stored: StoredFile

    @classmethod
    def of(cls, entry: "FileInfo") -> Self:
        """Create it from pyarrow's entry."""
        return cls(entry.path, entry.type.name, StoredFile(entry.size or 0, entry.mtime_ns or 0))

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def is_file(self) -> bool:
        """Whether it is a file."""
        return self.type == "File"

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, which an object store only pretends."""
        return self.type == "Directory"
