"""What was said of logs that have less: kept in a file of their root, as the checkpoint files soon say it no more."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

from epoch.filesystem import REAL, FileSystem
from logstore.errors import CorruptMetadataError, LogStoreError
from logstore.files.broker.checked_json import decode_checked, encode_checked
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.topic_partition import TopicPartition, parse_directory_name

KEPT_CLAIMS_NAME: Final = ".epochlog-claims"
"""In the root, where Kafka does not mind it."""
_VERSION: Final = 1
_ADVICE: Final = (
    "it names logs that have less than their broker promised: let other replicas lead these, and remove the file"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """How far a log reached, as its root's checkpoint files said it."""

    recovery_point: int = 0
    """Everything below was on stable storage."""
    high_watermark: int = 0
    log_start_offset: int | None = None
    """Where the log began, inside its first segment, as it was closed in order; None where that is not known."""

    @classmethod
    def of(cls, said: PartitionCheckpoints) -> Self:
        """Create claims from the entries of a root's checkpoint files."""
        # Of a log that was not closed in order retention may have taken more.
        start = said.log_start_offset if said.clean_shutdown else None
        return cls(
            recovery_point=said.recovery_point or 0, high_watermark=said.high_watermark or 0, log_start_offset=start
        )

    @property
    def end(self) -> int:
        """The log reached at least as far."""
        return max(self.recovery_point, self.high_watermark, self.log_start_offset or 0)

    def with_earlier(self, kept: "Claims | None") -> "Claims":
        """Add what was said before, which may be more."""
        if kept is None:
            return self
        return Claims(
            recovery_point=max(self.recovery_point, kept.recovery_point),
            high_watermark=max(self.high_watermark, kept.high_watermark),
            log_start_offset=self.log_start_offset if kept.log_start_offset is None else kept.log_start_offset,
        )


def read_claims(root: Path) -> dict[TopicPartition, Claims]:
    """Read the file of a root; nothing where there is none. Raises CorruptMetadataError, and OSError."""
    path = root / KEPT_CLAIMS_NAME
    try:
        content = decode_checked(path.read_bytes())
        is_known = content["version"] == _VERSION
        claims = claims_of_plain(content["partitions"])
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, LogStoreError) as error:
        raise CorruptMetadataError("these are no claims of logs", file=path, advice=_ADVICE) from error
    if not is_known:
        raise CorruptMetadataError("claims of another version", file=path, advice=_ADVICE)
    return claims


def keep_claims(root: Path, claims: Mapping[TopicPartition, Claims], filesystem: FileSystem = REAL) -> None:
    """Replace the file of a root, durably; remove it where nothing is to be kept. Raises OSError."""
    path = root / KEPT_CLAIMS_NAME
    if claims:
        filesystem.write_atomically(path, encode_checked({"version": _VERSION, "partitions": plain_claims(claims)}))
    elif path.exists():
        filesystem.unlink(path)
        filesystem.fsync_directory(root)


def plain_claims(claims: Mapping[TopicPartition, Claims]) -> dict[str, dict[str, int | None]]:
    """Return what JSON can hold."""
    return {str(partition): asdict(said) for partition, said in sorted(claims.items())}


def claims_of_plain(plain: Mapping[str, Mapping[str, int | None]]) -> dict[TopicPartition, Claims]:
    """Return what `plain_claims` was given. Raises what Python raises for anything else, and LogStoreError."""
    return {parse_directory_name(name).topic_partition: _checked(Claims(**said)) for name, said in plain.items()}  # type: ignore[arg-type]


def _checked(claims: Claims) -> Claims:
    if not all(type(each) is int and each >= 0 for each in asdict(claims).values() if each is not None):
        raise ValueError("an offset is a whole number from 0 on")
    return claims
