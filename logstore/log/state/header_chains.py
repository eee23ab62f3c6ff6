"""The header chains of a log's segments: they grow behind what is synced, and never ahead of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from logstore.segment.batch_heads import BLOCK
from logstore.segment.header_chain import UNKNOWN, ChainStart, HeaderChain, log_of
from logstore.segment.live_chain import LiveChain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from logstore.log.state.log_contents import LogContents
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.segment.live_chain import Growth
    from logstore.segment.live_segment import LiveSegment

    Ends = Sequence[tuple[LiveSegment, int]]
    """Segments, and up to where they were synced."""
    Grown = tuple[LiveSegment, LiveChain, Growth]

_WITHOUT = OSError, MemoryError, ValueError
"""What a chain does without: it is behind then, and goes on with the next sync. The last is of bytes taken away."""


class HeaderChains:
    """The chains of one log. What they lack is made of the segments again, so nothing fails for want of them."""

    def __init__(self, environment: LogEnvironment, contents: LogContents) -> None:
        """Read nothing yet."""
        self._environment = environment
        self._contents = contents

    def follow(self, segment: LiveSegment) -> None:
        """Hand the heads of what is appended to the chain of a segment, if it has all of it so far."""
        if self._environment.config.index_interval_bytes > BLOCK:
            return  # blocks are looked at with index entries
        with suppress(*_WITHOUT):
            segment.heads = self._chain_of(segment).begin_to_follow(segment.size)

    def grow(self, ends: Ends) -> list[Grown]:
        """Read what was synced, of segments up to their ends, where their chains do not follow; needs no lock."""
        grown = []
        with suppress(*_WITHOUT):
            for segment, end in ends:
                chain = self._chain_of(segment)
                growth = chain.grow(segment.file, end, least=BLOCK) if segment.heads is None else None
                if growth is not None:
                    grown.append((segment, chain, growth))
        return grown

    def write(self, ends: Ends, grown: Iterable[Grown]) -> None:
        """Write the whole blocks of what was synced, with the log's lock held; nothing was taken away since."""
        with suppress(*_WITHOUT):
            for segment, read, growth in grown:
                if segment.chain is read and segment.heads is None:
                    read.write(growth)
                    self.follow(segment)
            for segment, end in ends:
                chain = segment.chain
                if chain is None or segment.heads is None:
                    continue
                if segment.size == end >= chain.due:
                    segment.heads = chain.fold(end)
                following = chain.followed(end)
                if following is not None:
                    chain.write(following)

    def complete(self, segments: Iterable[LiveSegment]) -> None:
        """Bring those of synced segments to stable storage, with the log's lock held: nothing follows for now."""
        with suppress(*_WITHOUT):
            for segment in segments:
                if segment.size:
                    self._complete(segment)

    def _complete(self, segment: LiveSegment) -> None:
        chain, size, modified_ns = self._chain_of(segment), segment.size, segment.path.stat().st_mtime_ns
        growth = chain.grow(segment.file, size) if segment.heads is None else chain.followed_to_the_end(size)
        if growth is not None:
            chain.write(growth, modified_ns=modified_ns, sync=True)
        elif chain.last.position == size:
            chain.close(modified_ns)
        self.follow(segment)

    def _chain_of(self, segment: LiveSegment) -> LiveChain:
        if segment.chain is None:
            segment.chain = LiveChain.open(
                segment.chain_path,
                self._environment.filesystem,
                segment.base_offset,
                segment.size,
                lambda: self._start_of(segment),
            )
        return segment.chain

    def _start_of(self, segment: LiveSegment) -> ChainStart:
        """Return how the chain of a segment begins that has none."""
        segments = self._contents.segments.segments
        number = next((number for number, each in enumerate(segments) if each is segment), 0)
        before = self._ends_with(segments[number - 1]) if number else None
        if before is None:
            return ChainStart(segment.base_offset, log_of(self._environment.directory), UNKNOWN, is_anew=False)
        return ChainStart(segment.base_offset, *before, is_anew=False)

    @staticmethod
    def _ends_with(segment: LiveSegment) -> tuple[int, int] | None:
        """Return of which log a segment's chain is, and how it ends if it has all of that; None without a chain."""
        chain = segment.chain
        if chain is not None and segment.heads is not None:
            return chain.log, chain.digest_at(segment.size)
        found = HeaderChain.read(segment.chain_path, most=1)
        if found is None:
            return None
        return found.start.log, found.end.digest if found.end.position == segment.size else UNKNOWN
