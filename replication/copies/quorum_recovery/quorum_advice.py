"""Which controller's copy of the metadata to restore from, and what each choice would forget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from logstore.text.record_mask import RecordMask
from replication.base.errors import SameBrokerError
from replication.base.next_step import Step
from replication.copies.planning.named_roots import ensure_one_cluster
from replication.copies.planning.raft_log import LogPosition, common_end
from replication.copies.quorum_recovery.decision import CopyFacts, Decision, decide
from replication.copies.quorum_recovery.doubts import contradictions, doubts_of
from replication.copies.quorum_recovery.metadata_copy import Effect, MetadataCopy
from replication.copies.quorum_recovery.next_steps import back_up, next_steps
from replication.copies.quorum_recovery.voter_set import VoterSet
from replication.records.metadata.image_difference import Difference, image_differences


@dataclass(frozen=True, slots=True)
class CopyStanding:
    """A copy beside the recommended one."""

    copy: MetadataCopy
    is_voters: bool
    """Whether it counts as a voter's; brokers have copies too."""
    common_end: int | None
    """Up to where it is the same as the recommended copy; None where neither reaches back far enough to show it."""
    differences: tuple[Difference, ...] | None
    """From the recommended copy to this one: what a cluster that is restored from it has forgotten, and what it has in
    addition. None where one of the two cannot be loaded."""

    @property
    def position(self) -> LogPosition:
        """How far it goes."""
        return self.copy.log.position

    @property
    def is_forked(self) -> bool:
        """Whether it has records that the recommended copy has not."""
        return self.common_end is not None and self.common_end < self.copy.log.end_offset

    def masked(self, mask: RecordMask) -> "CopyStanding":
        """Return it with what the records of the metadata say masked, as far as it is more than who leads what."""
        if self.differences is None:
            return self
        return replace(self, differences=tuple(each.masked(mask) for each in self.differences))

    def as_json(self) -> dict[str, Any]:
        """Return the standing as `--json` prints it."""
        return {
            **self.copy.as_json(),
            "is_voters": self.is_voters,
            "common_end": self.common_end,
            "differences": None if self.differences is None else [each.as_json() for each in self.differences],
        }


@dataclass(frozen=True, slots=True)
class QuorumAdvice:
    """What to restore a quorum of controllers from."""

    copies: tuple[CopyStanding, ...]
    """The best first."""
    recommended: str | None
    """None where a controller starts with none of the copies."""
    is_complete: bool
    """Whether the recommended copy has all that was committed when the first of the copies was made."""
    voters: VoterSet | None
    """As the copy that goes furthest has them."""
    missing_voters: tuple[int, ...]
    committed_end: int
    """Up to there, at least, the metadata was committed."""
    misleading: tuple[str, ...]
    """Copies that end at a higher offset than the recommended one, in an earlier epoch."""
    doubts: tuple[str, ...]
    """What cannot be known, and what is wrong, a sentence each."""
    backup: Step
    """What to do first."""
    steps_after_backup: tuple[Step, ...]

    @property
    def best(self) -> CopyStanding | None:
        """The recommended copy."""
        return next((each for each in self.copies if each.copy.name == self.recommended), None)

    @property
    def is_of_controllers(self) -> bool:
        """Whether a controller's copy is among these; brokers follow the metadata too, and have no vote."""
        return any(each.is_voters for each in self.copies)

    @property
    def has_findings(self) -> bool:
        """Whether copies do not just lag, or too few controllers' copies are at hand."""
        is_wrong = any(each.is_forked or each.copy.faults for each in self.copies)
        return is_wrong or (self.is_of_controllers and not self.is_complete)

    @property
    def has_something_to_decide(self) -> bool:
        """Whether controllers' copies do not just lag behind one that has all that was committed."""
        return self.is_of_controllers and self.has_findings

    @property
    def loses_what_is_committed(self) -> bool:
        """Whether metadata that was committed is in none of the copies with which a controller starts."""
        best = self.best
        return bool(self.copies) and (best is None or best.position.end_offset < self.committed_end)

    def masked(self, mask: RecordMask) -> "QuorumAdvice":
        """Return the advice with what the records of the metadata say masked: see `Difference.masked`."""
        return replace(self, copies=tuple(each.masked(mask) for each in self.copies))

    def as_json(self) -> dict[str, Any]:
        """Return the advice as `epochlog advise --json` prints it."""
        return {
            "recommended": self.recommended,
            "is_complete": self.is_complete,
            "committed_end": self.committed_end,
            "voters": self.voters and self.voters.as_json(),
            "missing_voters": list(self.missing_voters),
            "misleading": list(self.misleading),
            "copies": [each.as_json() for each in self.copies],
            "doubts": list(self.doubts),
            "steps": [each.as_json() for each in (self.backup, *self.steps_after_backup)],
        }


def advise_quorum(copies: Sequence[MetadataCopy]) -> QuorumAdvice:
    """Return which copy of the metadata has most of what was committed, and what is not certain.

    The copies are of nodes of one cluster, controllers or brokers, and may have been made while these ran. What is said
    holds as long as a controller's copy has all that the controller ever acknowledged: it is not from an old backup,
    nor was its disk lost or formatted meanwhile.

    Raises DifferentClustersError, and SameBrokerError for two copies of one node.

    >>> advice = advise_quorum([read_copy(Path("controller-1")), read_copy(Path("controller-2"))])
    >>> print(advice.recommended, advice.is_complete)
    """
    ensure_one_cluster({each.name: each.cluster_id for each in copies})
    _ensure_different_nodes(copies)
    by_name = {each.name: each for each in copies}
    decision = decide([_facts(each) for each in copies])
    if any(contradictions(copies)):
        decision = replace(decision, is_complete=False)
    best = by_name.get(decision.best or "")
    standings = tuple(_standing(by_name[name], best, decision) for name in decision.ranking)
    return QuorumAdvice(
        standings,
        decision.best,
        decision.is_complete,
        decision.voters,
        tuple(voter.node_id for voter in decision.missing),
        decision.committed_end,
        _misleading(by_name, best),
        doubts_of(copies, decision),
        back_up(copies),
        next_steps(copies, decision),
    )


def _facts(copy: MetadataCopy) -> CopyFacts:
    return CopyFacts(
        copy.name,
        copy.log.position,
        copy.node_id,
        copy.directory_id,
        copy.is_whole,
        not any(each.effect is Effect.CANNOT_START for each in copy.faults),
        max((each.end_offset for each in copy.log.snapshots), default=0),
        copy.voters,
        copy.quorum_state.leader_epoch if copy.quorum_state else None,
    )


def _standing(copy: MetadataCopy, best: MetadataCopy | None, decision: Decision) -> CopyStanding:
    voters = decision.voters.voters if decision.voters else ()
    is_voters = any(each.is_at(copy.node_id, copy.directory_id) for each in voters)
    if best is None:
        return CopyStanding(copy, is_voters, None, None)
    differences = None
    if best.image is not None and copy.image is not None:
        differences = tuple(image_differences(best.image, copy.image))
    return CopyStanding(copy, is_voters, common_end(best.log, copy.log), differences)


def _misleading(copies: Mapping[str, MetadataCopy], best: MetadataCopy | None) -> tuple[str, ...]:
    if best is None:
        return ()
    ahead = [name for name, copy in copies.items() if copy.log.end_offset > best.log.end_offset]
    return tuple(name for name in sorted(ahead) if copies[name].log.position < best.log.position)


def _ensure_different_nodes(copies: Sequence[MetadataCopy]) -> None:
    for one, other in combinations(copies, 2):
        if one.node_id is not None and one.node_id == other.node_id:
            raise SameBrokerError(one.name, other.name, f"node {one.node_id} by node.id in meta.properties")
