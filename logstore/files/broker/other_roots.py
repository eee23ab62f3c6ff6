"""What a broker's other roots held as it stopped in order: kept in each, as one that is put back knows only itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from epoch.filesystem import REAL, FileSystem
from logstore.errors import CorruptMetadataError, LogStoreError
from logstore.files.broker.checked_json import decode_checked, encode_checked
from logstore.files.broker.kept_claims import Claims, claims_of_plain, plain_claims
from logstore.topic_partition import TopicPartition

OTHER_ROOTS_NAME: Final = ".epochlog-other-roots"
"""In each root of several, where Kafka does not mind it."""
_VERSION: Final = 0
_ADVICE: Final = (
    "it records what the broker's other roots held: check that none of these is an older copy, and remove the file"
)


@dataclass(frozen=True, slots=True)
class OtherRoots:
    """How far the logs in other roots reached, when a broker stopped."""

    broker_epoch: int
    """Of that broker: each start has a later one, and so has what Kafka's broker does meanwhile."""
    claims: Mapping[str, Mapping[TopicPartition, Claims]] = field(default_factory=dict)
    """By the `directory.id` of the root."""

    @classmethod
    def read(cls, root: Path) -> Self | None:
        """Read the file of a root; None where there is none. Raises CorruptMetadataError, and OSError."""
        path = root / OTHER_ROOTS_NAME
        try:
            content = decode_checked(path.read_bytes())
            claims = {str(root_id): claims_of_plain(plain) for root_id, plain in content["roots"].items()}
            is_known, told = content["version"] == _VERSION, cls(int(content["broker_epoch"]), claims)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, LogStoreError) as error:
            raise CorruptMetadataError("it does not describe other roots", file=path, advice=_ADVICE) from error
        if not is_known:
            raise CorruptMetadataError("of another version", file=path, advice=_ADVICE)
        return told

    @staticmethod
    def remove(root: Path, filesystem: FileSystem = REAL) -> None:
        """Remove the file of a root, if there is one; it may be back after a loss of power. Raises OSError."""
        if (root / OTHER_ROOTS_NAME).exists():
            filesystem.unlink(root / OTHER_ROOTS_NAME)

    def write(self, root: Path, filesystem: FileSystem = REAL) -> None:
        """Replace the file of a root, durably. Raises OSError."""
        roots = {root_id: plain_claims(claims) for root_id, claims in self.claims.items()}
        content = {"version": _VERSION, "broker_epoch": self.broker_epoch, "roots": roots}
        filesystem.write_atomically(root / OTHER_ROOTS_NAME, encode_checked(content))
