"""Which leaders are to be asked for what is damaged here, and what they have answered."""

from collections.abc import Callable
from threading import Lock
from typing import Final, NamedTuple

from replication.cluster.broker.partitions.damaged_range import DamagedRange
from replication.cluster.fetcher.fetcher_manager import LeaderAddress
from replication.records.metadata.image_changes import PartitionId


class RangeQuestion(NamedTuple):
    """What is to be asked, and whom."""

    changed: PartitionId
    leader: LeaderAddress
    damaged: DamagedRange


class DamagedRanges:
    """Any thread may call it: whoever asks takes what is open, and says what was answered."""

    def __init__(self) -> None:
        """Ask nothing yet."""
        self.wake: Callable[[], object] = lambda: None
        """Called where there is something to ask."""
        self._open: Final[dict[PartitionId, RangeQuestion]] = {}
        self._answers: Final[dict[PartitionId, tuple[RangeQuestion, str]]] = {}
        self._news: Final[set[PartitionId]] = set()
        self._lock: Final = Lock()

    def missing(self, question: RangeQuestion) -> str | None:
        """Return what the leader lacks, "" for nothing; None where it has yet to be asked, as it will be."""
        with self._lock:
            asked, missing = self._answers.get(question.changed, (None, ""))
            if asked == question:
                return missing
            self._open[question.changed] = question
        self.wake()
        return None

    def forget(self, changed: PartitionId) -> None:
        """Note that nothing is to be known of a partition any more."""
        with self._lock:
            self._open.pop(changed, None)
            self._answers.pop(changed, None)

    def next(self) -> RangeQuestion | None:
        """Return what is to be asked next."""
        with self._lock:
            return next(iter(self._open.values()), None)

    def answered(self, question: RangeQuestion, missing: str) -> None:
        """Note what the leader lacks; an answer that is no longer wanted is ignored."""
        with self._lock:
            if self._open.get(question.changed) == question:
                del self._open[question.changed]
                self._answers[question.changed] = question, missing
                self._news.add(question.changed)

    def failed(self, question: RangeQuestion) -> None:
        """Move an unanswered question behind the others."""
        with self._lock:
            if self._open.get(question.changed) == question:
                del self._open[question.changed]
                self._open[question.changed] = question

    def take_news(self) -> frozenset[PartitionId]:
        """Return of which partitions something was answered since the last call."""
        if not self._news:
            return frozenset()
        with self._lock:
            news = frozenset(self._news)
            self._news.clear()
        return news
