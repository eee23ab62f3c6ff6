"""The file that marks a clean shutdown of a broker (Kafka: CleanShutdownFileHandler, KIP-966)."""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from epoch.filesystem import REAL, FileSystem
from logstore.errors import CorruptMetadataError

CLEAN_SHUTDOWN_NAME: Final = ".kafka_cleanshutdown"
UNKNOWN_BROKER_EPOCH: Final = -1
_MAX_BYTES: Final = 4096
_UNKNOWN: Final = b'{"version":0,"brokerEpoch":-1}'
_FIELDS: Final = ("version", "brokerEpoch")


class CleanShutdown(NamedTuple):
    """Written once all logs are flushed and closed, removed at the next start: if it exists, logs need no recovery."""

    broker_epoch: int = UNKNOWN_BROKER_EPOCH
    """The broker's epoch when it stopped; -1 where an older broker left an empty file."""

    @classmethod
    def read(cls, path: Path) -> "CleanShutdown":
        """Read the file. Raises CorruptMetadataError, and OSError where it cannot be read."""
        with open(path, "rb") as file:
            return cls.parse(file.read(_MAX_BYTES + 1), path)

    @classmethod
    def parse(cls, data: bytes, path: Path = Path(CLEAN_SHUTDOWN_NAME)) -> "CleanShutdown":
        """Read the file's bytes: empty, or JSON with `version` and `brokerEpoch`."""
        if not data or data == _UNKNOWN:
            return cls()
        import json  # noqa: PLC0415  start-up time: a log that stands alone writes no more than that

        try:
            content = json.loads(data[: _MAX_BYTES + 1], object_pairs_hook=unique)
            version, broker_epoch = (content[name] for name in _FIELDS)
            is_known = (
                type(version) is int and version == 0 and len(content) == len(_FIELDS) and len(data) <= _MAX_BYTES
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptMetadataError("this is not a clean-shutdown file", file=path, advice=_ADVICE) from error
        if not is_known or type(broker_epoch) is not int or not UNKNOWN_BROKER_EPOCH <= broker_epoch < 1 << 63:
            raise CorruptMetadataError("the version or broker epoch is invalid", file=path, advice=_ADVICE)
        return cls(broker_epoch)

    def encode(self) -> bytes:
        """Return the file's bytes, as Kafka writes them."""
        return b'{"version":0,"brokerEpoch":%d}' % self.broker_epoch

    def write(self, path: Path, filesystem: FileSystem = REAL) -> None:
        """Record durably that all logs are flushed and closed. Raises OSError."""
        filesystem.write_atomically(path, self.encode())


def take_clean_shutdown(directory: Path, filesystem: FileSystem = REAL) -> CleanShutdown:
    """Remove the file, durably, and return its contents: a crash from here on is not a clean shutdown (KAFKA-10471).

    The broker epoch is unknown if the file is missing or cannot be read. Raises OSError.
    """
    path = directory / CLEAN_SHUTDOWN_NAME
    said = CleanShutdown()
    if path.exists():
        with suppress(CorruptMetadataError):
            said = CleanShutdown.read(path)
        filesystem.unlink(path)
        filesystem.fsync_directory(directory)
    return said


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object's dictionary. Raises ValueError where a name comes twice."""
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a name comes twice")
    return content


_ADVICE = "the broker still shut down cleanly; its epoch is unknown"
