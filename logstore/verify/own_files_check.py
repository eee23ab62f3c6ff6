"""The small files that this library keeps beside Kafka's are known, and can be read."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from logstore.errors import CorruptMetadataError
from logstore.files.broker.kept_claims import KEPT_CLAIMS_NAME, read_claims
from logstore.files.broker.lost_tail import LOST_TAIL_MARK, LostTail
from logstore.files.broker.other_roots import OTHER_ROOTS_NAME, OtherRoots
from logstore.files.only_copy.offset_gaps import OFFSET_GAPS_NAME, OffsetGaps
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME, ensure_readable
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify.finding import Finding, Reporter
from logstore.verify.reading import read_file

_READERS: Final[dict[str, Callable[[Path], object]]] = {
    OFFSET_GAPS_NAME: OffsetGaps.read,
    PROMISED_OFFSETS_NAME: ensure_readable,
}
UNPARSABLE: Final = "own-file-unparsable"


def check_own_files(partition: PartitionDirectory, report: Reporter) -> Iterator[Finding]:
    """Check those in a partition's directory."""
    for name in sorted(_READERS.keys() & partition.listing.files.keys()):
        findings, _ = read_file(partial(_READERS[name], partition.path), name, UNPARSABLE, report)
        yield from findings
    if LOST_TAIL_MARK in partition.listing.files:
        findings, lost = read_file(partial(LostTail.of, partition.path), LOST_TAIL_MARK, UNPARSABLE, report)
        yield from findings
        if lost is not None:
            yield report.info(
                "lost-tail",
                f"the log ended at offset {lost.former_end:,} and was recovered up to {lost.end:,} only: a broker of "
                "this library does not let it lead for what it has lost",
                file=LOST_TAIL_MARK,
                offset=lost.end,
            )


def check_kept_claims(root: Path, report: Reporter) -> Iterator[Finding]:
    """Check what a root keeps of logs that have less than was said of them, and of other roots."""
    for name, read in ((KEPT_CLAIMS_NAME, read_claims), (OTHER_ROOTS_NAME, OtherRoots.read)):
        findings, _ = read_file(partial(read, root), name, UNPARSABLE, report)
        yield from findings


def kept_end(partition: PartitionDirectory) -> int:
    """Return how far a log reached by what its root keeps; 0 where that says nothing, or cannot be read."""
    try:
        claims = read_claims(partition.path.parent).get(partition.topic_partition)
    except (CorruptMetadataError, OSError):
        return 0
    return 0 if claims is None else claims.end


def known_gaps(partition: PartitionDirectory) -> OffsetGaps:
    """Return what a log says that it lacks; nothing where it cannot be read, which `check_own_files` reports."""
    try:
        return OffsetGaps.read(partition.path)
    except (CorruptMetadataError, OSError):
        return OffsetGaps()
