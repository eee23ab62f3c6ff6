"""Spares judging partitions whose copies were examined with the same result before."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import epoch
from logstore.topic_partition import TopicPartition
from replication.copies.audit.examination.kept.kept_file import KeptFile
from replication.copies.audit.snapshots.registered import Registered
from replication.copies.audit.snapshots.storage import Storage

Row = dict[str, Any]
VERSION: Final = 1
SUFFIX: Final = ".verdict"


@dataclass(frozen=True, slots=True)
class KnownVerdicts:
    """The verdicts that audits of one history have come to without reading any log: a file for each partition."""

    place: Storage
    full: bool = False
    """Whether all is judged anew."""

    def recalled(self, partition: TopicPartition, judged_from: str) -> Row | None:
        """Return the verdict that was come to from the same, by its digest; None where it is not known."""
        known = None if self.full else verdict_file_of(partition).read_json(self.place)
        return dict(known["row"]) if known is not None and known["from"] == judged_from else None

    def keep(self, partition: TopicPartition, judged_from: str, row: Row) -> None:
        """Keep a verdict. One that cannot be kept is come to again."""
        try:
            verdict_file_of(partition).write_json(self.place, {"from": judged_from, "row": row})
        except OSError:
            return


def digest_of(copies: Iterable[Row], missing: Sequence[str], registered: Registered | None) -> str:
    """Return a digest of all that the verdict of a partition depends on, as long as no log is read for it."""
    digest = hashlib.sha256(_bytes((VERSION, epoch.__version__, missing, registered)))
    for row in sorted(copies, key=_by_replica):
        digest.update(_bytes((row["replica"], row["copy"], row["summary"], row["digests"])))
    return digest.hexdigest()


def verdict_file_of(partition: TopicPartition) -> KeptFile:
    """Name the file of a partition."""
    return KeptFile.of(str(partition), SUFFIX)


def _bytes(values: tuple[object, ...]) -> bytes:
    return repr(values).encode(errors="surrogateescape")


def _by_replica(row: Row) -> str:
    replica: str = row["replica"]
    return replica
