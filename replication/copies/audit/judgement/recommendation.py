"""Which copy should lead: whom Kafka elects, and under whom least is lost; decided once for all commands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from epoch import UNDEFINED_EPOCH
from replication.base.counted import counted
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.comparison.difference_findings import odd_replicas
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.losses import EMPTY, Loss
from replication.copies.audit.snapshots.foretold_election import UNTOLD, ForetoldElection

NO_COPY: Final = "it has no copy here, and begins with an empty log"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One copy as the leader."""

    replica: str
    last_epoch: int
    """The latest leader epoch that its log knows, -1 without any."""
    log_start_offset: int
    log_end_offset: int
    damage: str | None
    """Why the copy should not be trusted; None where nothing was found."""
    loss: Loss | None
    """What is lost if it leads; None where that is not known."""

    @property
    def cost(self) -> Cost:
        """By what candidates are ranked; nothing where that is not known."""
        return self.loss.cost if self.loss else Cost()

    def as_json(self) -> dict[str, Any]:
        """Return the candidate as `epochlog advise --json` and `audit --json` print it."""
        return {
            "replica": self.replica,
            "last_epoch": self.last_epoch,
            "log_end_offset": self.log_end_offset,
            "damage": self.damage,
            "lost": self.loss.lost.as_json() if self.loss else None,
            "acknowledged": self.loss.acknowledged.as_json() if self.loss else None,
            "maybe_acknowledged": self.loss.maybe_acknowledged.as_json() if self.loss else None,
            "acknowledged_at_most": self.loss.acknowledged_at_most if self.loss else None,
        }


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The choices, and what all candidates cost."""

    election: ForetoldElection
    """Whom Kafka elects, or why the files do not show it."""
    latest_and_longest: str
    """The copy with the latest leader epoch, of several the longest. Kafka does not ask logs, and may elect another."""
    least_loss: str | None
    """Under whom least is lost, acknowledged records first, as `Cost` ranks; None where a loss is not known."""
    candidates: tuple[Candidate, ...]
    """By replica."""
    missing: tuple[str, ...] = ()
    """Replicas that should have a copy and have none."""
    without_copy: tuple[Candidate, ...] = ()
    """Those of them that may lead all the same: they begin with an empty log."""

    @property
    def kafkas_choice(self) -> str | None:
        """Whom Kafka elects once all brokers at hand start together; None where that is not certain, or nobody."""
        return self.election.leader

    @property
    def expected(self) -> tuple[Candidate, ...]:
        """Who has to be reckoned with as the leader unless somebody chooses.

        Those that Kafka may elect; where the files do not show that, the copy with the latest epoch and longest log.
        """
        names = (self.latest_and_longest,) if self.election.why_unknown else self.election.leaders
        return tuple(each for each in self.candidates if each.replica in names)

    @property
    def beginning_empty(self) -> tuple[str, ...]:
        """Those whom Kafka may elect although they lack their copy."""
        return tuple(each for each in self.election.leaders if each in self.missing)

    @property
    def differs(self) -> bool:
        """Whether another copy may lead than the one under which least is lost."""
        if self.least_loss is None:
            return False
        return bool(self.beginning_empty) or any(each.replica != self.least_loss for each in self.expected)

    def candidate(self, replica: str | None) -> Candidate | None:
        """Return a replica's candidate."""
        return next((each for each in self.candidates if each.replica == replica), None)


def recommend(
    summaries: Sequence[CopySummary],
    comparisons: Sequence[Comparison],
    losses: Mapping[str, Loss],
    election: ForetoldElection = UNTOLD,
    missing: Sequence[str] = (),
) -> Recommendation:
    """Choose among the copies of a partition, of which there is at least one.

    Between candidates that are equal by a rule, a copy without damage goes first; then, for the latest epoch and the
    longest log, the one under which less is lost, for the least loss the one that Kafka elects, then the one
    of the latest epoch and the longest log; then the one whose log starts earliest, for followers delete what their
    leader's log no longer has, and the first by name.
    """
    damage = {each.replica: _damage(each, comparisons) for each in summaries}
    candidates = tuple(
        Candidate(
            each.replica,
            _last_epoch(each),
            each.log_start_offset,
            each.log_end_offset,
            damage[each.replica],
            losses.get(each.replica),
        )
        for each in sorted(summaries, key=lambda each: each.replica)
    )
    known = all(each.loss for each in candidates)
    least = min(candidates, key=partial(_by_loss, election.leader)).replica if known else None
    at_stake = bool(missing) or any(each.loss is None or each.loss.lost.records for each in candidates)
    return Recommendation(
        election if at_stake else election.without_orders(),
        min(candidates, key=_by_epochs).replica,
        least,
        candidates,
        tuple(missing),
        tuple(
            Candidate(each, UNDEFINED_EPOCH, 0, 0, NO_COPY, losses.get(EMPTY))
            for each in may_begin_empty(election, missing)
        ),
    )


def may_begin_empty(election: ForetoldElection, missing: Sequence[str]) -> list[str]:
    """Name the replicas without a copy that may lead in some way; all where the files do not show whom Kafka elects."""
    return [each for each in missing if each and (election.why_unknown is not None or each in election.all_leaders)]


def _by_epochs(candidate: Candidate) -> tuple[int, int, bool, Cost, int, str]:
    return (
        -candidate.last_epoch,
        -candidate.log_end_offset,
        candidate.damage is not None,
        candidate.cost,
        candidate.log_start_offset,
        candidate.replica,
    )


def _by_loss(elected: str | None, candidate: Candidate) -> tuple[Cost, bool, bool, int, int, int, str]:
    return (
        candidate.cost,
        candidate.damage is not None,
        candidate.replica != elected,
        -candidate.last_epoch,
        -candidate.log_end_offset,
        candidate.log_start_offset,
        candidate.replica,
    )


def _last_epoch(summary: CopySummary) -> int:
    return summary.lineage[-1].epoch if summary.lineage else UNDEFINED_EPOCH


def _damage(summary: CopySummary, comparisons: Sequence[Comparison]) -> str | None:
    return "; ".join(_reasons(summary, comparisons)) or None


def _errors(number: int) -> str:
    return counted(number, "error")


def _reasons(summary: CopySummary, comparisons: Sequence[Comparison]) -> Iterable[str]:
    if summary.is_stray:
        yield "without its topic's id: its broker takes it for stray, sets it aside, and begins an empty log"
    if summary.damage is not None:
        yield f"damaged, its log counts as ending at offset {summary.log_end_offset:,}: {summary.damage}"
    elif summary.errors and not summary.segments:
        yield "damaged, all its segments are missing: it has no .log file"
    elif summary.log_errors:
        yield f"damaged, {_errors(summary.log_errors)} in its log"
    elif summary.errors:
        yield f"damaged, {_errors(summary.errors)} in the files beside its log"
    if summary.is_dropped:
        yield f"its log start, {summary.log_start_offset:,}, is beyond its end: its broker drops all of it"
    elif summary.begins_at < summary.log_start_offset:
        missing = f"offsets {summary.begins_at}..{summary.log_start_offset - 1}"
        yield f"its first segments are missing ({missing})"
    if summary.unread:
        yield "not read whole"
    if summary.replica in odd_replicas(comparisons):
        yield "holds different records than other copies at the same offsets and epochs"
    if any(
        (each.left == summary.replica and each.missing_left) or (each.right == summary.replica and each.missing_right)
        for each in comparisons
    ):
        yield "lacks offsets that others have"
