"""Damage that a store or a network has done to what was fetched, and not to the copy that lies there."""

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from logstore.file_name import FileKind
from logstore.verify.finding import UNREADABLE, Finding, Reporter
from replication.base.errors import ReplicationError
from replication.copies.audit.examination.examination import Examination
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.work import Copy

TRANSFER_DAMAGED: Final = "transfer-damaged"
WRONG_LENGTH: Final = "wrong length"
_ODD_WITHOUT_DAMAGE: Final = tuple(f".{kind}" for kind in (FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX))


class TransfersDifferError(ReplicationError):
    """Each transfer of a copy has other damage, or none has the length that the store gives."""

    def __init__(self) -> None:
        """Create it."""
        super().__init__(
            "the files were fetched several times, and were other ones each time, or not as long as the store says: "
            "what the copy holds is not known; look into the store and the network, and audit again"
        )


class FetchedDamage(NamedTuple):
    """Something wrong in a file of a log as it was fetched."""

    file: str
    position: int
    kind: str
    """A finding's, or WRONG_LENGTH."""
    content: bytes = b""
    """A digest of the file."""


def fetched_damage(copy: Copy, examination: Examination, directory: Path) -> set[FetchedDamage]:
    """Return what is odd in the files of a copy as they were fetched: in what they hold, or in how long they are."""
    findings = (each.finding for each in examination.findings)
    found = {_of(each) for each in findings if _is_of_a_file(each, directory)}
    listed = {segment.file: segment.size for segment in copy.segments}
    fetched = ((segment.file, segment.bytes) for segment in examination.segments)
    found |= {FetchedDamage(file, size, WRONG_LENGTH) for file, size in fetched if listed.get(file) != size}
    return {each._replace(content=_digest(directory / each.file)) for each in found}


def transfer_damaged(copy: Copy, damage: set[FetchedDamage]) -> ReplicaFinding:
    """Report damage that was not there any more when the file was fetched again."""
    first = min(damage)
    return _damaged_on_its_way(copy, first.file, f"{first.kind} was found in it once", first.position)


def altered_once(copy: Copy, file: str) -> ReplicaFinding:
    """Report a file that was another one in one transfer than in two others."""
    return _damaged_on_its_way(copy, file, "it was another one once")


def _damaged_on_its_way(copy: Copy, file: str, what: str, position: int | None = None) -> ReplicaFinding:
    message = (
        f"{what}, and not when it was fetched again: the store or the network has altered it on its way, and the file "
        "that lies there is not the one that was altered; look into what is between"
    )
    finding = Reporter(copy.topic_partition).warning(TRANSFER_DAMAGED, message, file=file, position=position)
    return ReplicaFinding(copy.replica, finding)


def _digest(file: Path) -> bytes:
    with suppress(OSError), open(file, "rb") as data:
        return hashlib.file_digest(data, "sha256").digest()
    return b""


def _of(finding: Finding) -> FetchedDamage:
    return FetchedDamage(finding.file or "", finding.position or 0, finding.kind)


def _is_of_a_file(finding: Finding, directory: Path) -> bool:
    """Whether a finding may come of how a file was fetched, as may zeros in a log and odd entries in an index."""
    file = finding.file or ""
    is_odd = finding.severity.needs_attention or file.endswith(_ODD_WITHOUT_DAMAGE)
    return is_odd and finding.kind != UNREADABLE and bool(file) and (directory / file).is_file()
