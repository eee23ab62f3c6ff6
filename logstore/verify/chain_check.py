"""Header chains fit their segments, and one another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from epoch.checkpoint import LeaderEpochCheckpoint
from epoch.errors import CheckpointError
from epoch.history import EpochHistory
from logstore.file_name import FileKind
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.segment.batch_heads import HEAD_SIZE
from logstore.segment.header_chain import UNKNOWN, HeaderChain, Link, continued
from logstore.verify.compaction import Compaction
from logstore.verify.finding import CURE, Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck

NO_LINK: Final = Link(0, -1, UNKNOWN, -1)


class ChainCheck(SilentCheck):
    """Follows the digests of what the batches' checksums leave out; a segment without a chain has nothing to fit."""

    def __init__(self, report: Reporter, partition: PartitionDirectory, compaction: Compaction) -> None:
        self._report = report
        self._files = {path.stem: path for _, path in partition.named(FileKind.HEADER_CHAIN)}
        self._log: int | None = None
        """Of which log the latest segment is that has a chain."""
        self._epochs = _epochs_of(partition)
        self._compaction = compaction
        self._chain: HeaderChain | None = None
        self._segment: Segment | None = None
        self._links: list[Link] = []
        """Those of the chain that are yet to come."""
        self._before = NO_LINK
        self._position = 0
        self._digest = UNKNOWN
        self._wrong: tuple[Link, Link] | None = None
        """The first link that does not fit, and the one before."""
        self._end_before: int | None = None
        """How the chain of the segment before ends; None where nobody knows."""
        self._end_offset: int | None = None
        """Where the batches end that were read last."""
        self._follows = False
        """Whether the segment begins there: else one may be missing in between."""

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Follow the batches from link to link."""
        self._begin(chunk.segment)
        columns = chunk.columns
        self._end_offset = int(columns.last_offset[-1]) + 1
        if self._links and int(columns.position[0]) != self._position:
            self._links = []  # behind damage, which is reported
        while self._links:
            rows = int(np.searchsorted(columns.position, self._links[0].position))
            taken = columns.position[int(np.searchsorted(columns.position, self._position)) : rows]
            heads = chunk.log.array[taken[:, None] + np.arange(HEAD_SIZE)]
            self._digest = continued(self._digest, heads.tobytes())
            ends = columns.position + columns.size
            self._position = int(ends[rows - 1]) if rows else self._position
            if rows == len(columns) and self._position < self._links[0].position:
                break
            self._judge(self._links.pop(0))
        yield from ()

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Stop where no batch can be read."""
        del start, end
        self._begin(segment)
        self._links = []

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Report what does not fit."""
        del is_active
        self._begin(segment)
        chain, wrong = self._chain, self._wrong
        if chain is None:
            self._end_before = None
            return
        path = self._files[segment.log_path.stem]
        yield from self._of_another(chain, path)
        if wrong is not None and self._is_current(path, wrong[0]):
            yield self._mismatch(segment, *wrong)
        is_whole = bool(chain.links) and wrong is None and self._position == chain.end.position == segment.size
        self._end_before = chain.end.digest if is_whole and not chain.start.is_anew else None

    def _begin(self, segment: Segment) -> None:
        if segment is self._segment:
            return
        path = self._files.get(segment.log_path.stem)
        self._segment, self._wrong, self._position = segment, None, 0
        self._follows, self._end_offset = self._end_offset == segment.base_offset, None
        self._chain = _read(path) if path is not None else None
        self._links = [] if self._chain is None else list(self._chain.links)
        self._before = NO_LINK if self._chain is None else self._chain.start.link
        self._digest = self._before.digest

    def _judge(self, link: Link) -> None:
        if self._position == link.position and self._digest == link.digest:
            self._before = link
        else:
            self._wrong, self._links = (link, self._before), []

    def _is_as_left(self, segment: Segment) -> bool:
        """Whether nobody has written to a segment since its chain ended."""
        try:
            return self._chain is not None and self._chain.end.is_as_left(segment.log_path)
        except OSError:
            return False

    @staticmethod
    def _is_current(path: Path, link: Link) -> bool:
        """Whether a chain still has a link: the log may have been cut and written anew meanwhile."""
        now = _read(path)
        return now is not None and link in now.links

    def _of_another(self, chain: HeaderChain, path: Path) -> Iterator[Finding]:
        start = chain.start
        what = ""
        if start.base_offset != int(path.stem):
            what = f"it begins at offset {start.base_offset:,} by its header chain: the files have been renamed"
        elif self._log not in {None, start.log}:
            what = "by its header chain it is of another log than the segment before"
        elif self._follows and self._end_before is not None and start.previous not in {UNKNOWN, self._end_before}:
            what = "by its header chain it followed another segment than the one before: one of them is not of this log"
        self._log = start.log
        if what:
            yield self._report.error("segment-of-another-log", f"{what}; {CURE}", file=path.name, offset=int(path.stem))

    def _mismatch(self, segment: Segment, link: Link, before: Link) -> Finding:
        where = f"from position {before.position:,} to {link.position:,}"
        name = segment.log_path.name
        if link.is_over(self._epochs) or (self._compaction.found and not self._is_as_left(segment)):
            return self._report.info(
                "header-chain-outdated",
                f"the batches {where} are others than this library had written there: another program has truncated "
                "or compacted the log since; at the next start the chain is made anew",
                file=name,
                position=before.position,
                offset=before.offset + 1,
            )
        return self._report.error(
            "header-chain-mismatch",
            f"the batches {where} are not those that were brought to stable storage there, though each may be sound: "
            f"of another log, of before, or changed where no checksum covers them; {CURE}",
            file=name,
            position=before.position,
            offset=before.offset + 1,
        )


def _read(path: Path) -> HeaderChain | None:
    """Read a chain; None where nothing can be known by it."""
    try:
        return HeaderChain.read(path)
    except OSError:
        return None


def _epochs_of(partition: PartitionDirectory) -> EpochHistory:
    try:
        return EpochHistory(LeaderEpochCheckpoint(partition.path).read())
    except (CheckpointError, OSError):
        return EpochHistory()
