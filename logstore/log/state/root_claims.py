"""What the checkpoint files of a root claim of its logs: never what is cut on purpose."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import NamedTuple, Protocol, Self

from logstore.errors import LogStoreError
from logstore.topic_partition import TopicPartition


class CutEnd(NamedTuple):
    """What a cut leaves of a log, at whatever step a crash comes."""

    end: int
    """It ends here, or later."""
    start: int
    """By the checkpoint files it starts here, or before."""

    @classmethod
    def at(cls, offset: int) -> Self:
        """Of a log that is to end at an offset."""
        return cls(offset, offset)

    @classmethod
    def afresh(cls, start: int) -> Self:
        """Of a log that loses all, and is to start here: a crash in between may leave nothing."""
        return cls(0, start)


class RootClaims(Protocol):
    """The checkpoint files of a root, as a log there knows them."""

    def lower(self, cuts: Mapping[TopicPartition, CutEnd]) -> None:
        """Claim durably no more of these logs than cuts will leave, with one write for all. Raises OSError."""

    def cutting(self, partition: TopicPartition, cut: CutEnd) -> AbstractContextManager[None]:
        """Lower what is claimed of a log, and keep it low while that is cut. Raises OSError, before anything is cut."""


class AnnouncedCut(NamedTuple):
    """A cut of a log that is to come."""

    claims: RootClaims
    partition: TopicPartition
    cut: CutEnd


def announce(cuts: Iterable[AnnouncedCut]) -> None:
    """Lower what roots claim of several logs with one write for each root: cut one by one, each log has its own.

    What fails here is met again by each cut.
    """
    roots: defaultdict[RootClaims, dict[TopicPartition, CutEnd]] = defaultdict(dict)
    for claims, partition, cut in cuts:
        roots[claims][partition] = cut
    for claims, of_root in roots.items():
        with suppress(OSError, LogStoreError):
            claims.lower(of_root)
