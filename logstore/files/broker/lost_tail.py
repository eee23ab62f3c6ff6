"""What a log has lost though it is counted on: kept in a file beside the log, as a restart brings none of it back."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

from epoch.filesystem import REAL
from logstore.errors import CorruptMetadataError
from logstore.files.broker.checked_json import decode_checked, encode_checked

LOST_TAIL_MARK: Final = ".epochlog-lost-tail"
"""In the partition's directory, where Kafka does not mind it."""
_MAX_BYTES: Final = 4096
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTail:
    """The end of a log that others may hold, or take this replica to hold."""

    end: int
    """Up to where the log was recovered."""
    former_end: int
    leader_epoch: int
    """Of the partition, when it was lost."""
    was_recovering: bool
    """Whether it was in doubt already what the leader has (KIP-704): that is so until its first change of the ISR."""

    @classmethod
    def of(cls, directory: Path) -> Self | None:
        """Read the mark of a log; None where there is none. Raises CorruptMetadataError, and OSError."""
        path = directory / LOST_TAIL_MARK
        try:
            with open(path, "rb") as file:
                content = decode_checked(file.read(_MAX_BYTES))
            is_known = content.pop("version") == _VERSION
            lost = cls(**content)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorruptMetadataError("not the mark of a lost tail", file=path, advice=_ADVICE) from error
        if not is_known:
            raise CorruptMetadataError("a mark of another version", file=path, advice=_ADVICE)
        return lost

    def keep(self, directory: Path) -> None:
        """Mark the log, durably, where it is not marked. Raises OSError."""
        path = directory / LOST_TAIL_MARK
        if not path.exists():
            REAL.write_atomically(path, encode_checked({"version": _VERSION, **asdict(self)}))


def forget_lost_tail(directory: Path) -> None:
    """Remove the mark of a log, if there is one. Raises OSError."""
    (directory / LOST_TAIL_MARK).unlink(missing_ok=True)


_ADVICE: Final = (
    "make another replica the leader that has all records, and remove the file once this broker is neither in the ISR "
    "nor eligible as leader"
)
