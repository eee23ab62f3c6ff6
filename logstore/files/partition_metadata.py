"""The file with the topic id of a partition directory (KIP-516)."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from epoch.filesystem import REAL, FileSystem
from logstore.errors import CorruptMetadataError

PARTITION_METADATA_NAME: Final = "partition.metadata"
_MAX_BYTES: Final = 4096
_ENCODED_LENGTH: Final = 22


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """A topic's id, which changes if a topic is deleted and created again with the same name."""

    topic_id: UUID

    @classmethod
    def read(cls, path: Path) -> "PartitionMetadata":
        """Read the file. Raises CorruptMetadataError, and OSError where it cannot be read."""
        with open(path, "rb") as file:
            return cls.parse(file.read(_MAX_BYTES + 1), path)

    @classmethod
    def of(cls, directory: Path) -> "PartitionMetadata | None":
        """Read the file of a partition's directory; None where there is none, as before Kafka 2.8.

        Raises what `read` raises.
        """
        path = directory / PARTITION_METADATA_NAME
        return cls.read(path) if path.exists() else None

    @classmethod
    def parse(cls, data: bytes, path: Path = Path(PARTITION_METADATA_NAME)) -> "PartitionMetadata":
        """Read the file's bytes: `version: 0` and `topic_id: ` with the id in URL-safe base64."""
        lines = data.decode(errors="replace").splitlines()
        fields = [tuple(line.split(": ", 1)) for line in lines]
        match fields:
            case [("version", "0"), ("topic_id", text)]:
                return cls(_topic_id(text, path))
            case _:
                raise CorruptMetadataError("expected the lines version: 0 and topic_id: ...", file=path, advice=_ADVICE)

    def encode(self) -> bytes:
        """Return the file's bytes, as Kafka writes them."""
        return f"version: 0\ntopic_id: {format_uuid(self.topic_id)}".encode()

    def write(self, path: Path, filesystem: FileSystem = REAL) -> None:
        """Replace the file, atomically and durably. Raises OSError."""
        filesystem.write_atomically(path, self.encode())


_ADVICE = (
    "take the topic id from another replica, or from `epochlog cluster --bootstrap HOST:PORT --topics TOPIC --json`, "
    "and write the file again"
)


def parse_uuid(text: str) -> UUID:
    """Read a UUID as Kafka writes them: URL-safe base64 without padding. Raises ValueError.

    >>> parse_uuid("Br8snZJcSrSaMIBVoJX3aw")
    UUID('06bf2c9d-925c-4ab4-9a30-8055a095f76b')
    """
    if len(text) != _ENCODED_LENGTH:
        raise ValueError(f"{text!r:.60} is not {_ENCODED_LENGTH} characters")
    return UUID(bytes=base64.b64decode(text + "==", altchars=b"-_", validate=True))


def format_uuid(uuid: UUID) -> str:
    """Format a UUID as Kafka does.

    >>> format_uuid(UUID("06bf2c9d-925c-4ab4-9a30-8055a095f76b"))
    'Br8snZJcSrSaMIBVoJX3aw'
    """
    return base64.urlsafe_b64encode(uuid.bytes).rstrip(b"=").decode()


def _topic_id(text: str, path: Path) -> UUID:
    try:
        topic_id = parse_uuid(text)
    except ValueError as error:
        raise CorruptMetadataError(f"{text!r:.60} is not a topic id", file=path, advice=_ADVICE) from error
    if topic_id.int == 0:
        raise CorruptMetadataError("the topic id is zero", file=path, advice=_ADVICE)
    return topic_id
