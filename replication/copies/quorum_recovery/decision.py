"""Which copy of the metadata has all that was committed: decided from positions and voters, without a file.

Raft commits a record once a majority of voters has it, and elects nobody whose last record's epoch, or, where that is
equal, whose end offset is lower than that of one of the majority that votes. So of any copies among which each majority
of voters has a member, the one that is furthest in that order has all that was committed. The one with the highest end
offset need not: a leader that was cut off from the others goes on to append what nobody commits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from replication.copies.planning.raft_log import LogPosition
from replication.copies.quorum_recovery.voter_set import Voter, VoterSet


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """What the decision needs to know of one copy."""

    name: str
    position: LogPosition
    node_id: int | None = None
    """None where it is not known whose copy it is."""
    directory_id: str | None = None
    is_whole: bool = True
    """Whether nothing was lost from its end: all that its controller ever acknowledged is in it."""
    is_loadable: bool = True
    """Whether a controller starts with it."""
    committed_end: int = 0
    """Up to where its snapshots prove that records were committed."""
    voters: VoterSet | None = None
    """As its log, up to its end, has them."""
    current_epoch: int | None = None
    """The latest epoch of which its node knew, by `quorum-state`; None where no file says it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Which copy to restore from, and what is certain."""

    ranking: tuple[str, ...]
    """The copies, the best to restore from first."""
    best: str | None
    """None where a controller starts with none of them."""
    furthest: LogPosition | None
    """That of the copy that goes furthest, whether a controller starts with it or not."""
    voters: VoterSet | None
    """As the copy that goes furthest names them."""
    at_hand: tuple[Voter, ...]
    """Voters of which a whole copy was given."""
    missing: tuple[Voter, ...]
    """Voters of which none was."""
    is_complete: bool
    """Whether the best copy has all that was ever committed."""
    committed_end: int
    """Up to there, at least, the metadata was committed."""


def decide(copies: Sequence[CopyFacts]) -> Decision:
    """Choose among copies of the metadata of one cluster, of different nodes.

    Copies that were made while controllers ran count as well: what is said of all that was committed is then said of
    what was committed before the first of them was made.
    """
    ranked = sorted(copies, key=_rank)
    loadable = [each for each in ranked if each.is_loadable]
    if not ranked:
        return Decision((), None, None, None, (), (), is_complete=False, committed_end=0)
    furthest = max(copies, key=lambda each: each.position)
    voters = _voters_of(copies, furthest.position)
    holders = {voter: _holder(voter, copies) for voter in voters.voters} if voters else {}
    at_hand = tuple(voter for voter, holder in holders.items() if holder)
    best = loadable[0] if loadable else None
    proven = [each.committed_end for each in copies]
    is_complete = (
        voters is not None
        and best is not None
        and best.position == furthest.position
        and len(at_hand) >= voters.sufficient
    )
    return Decision(
        tuple(each.name for each in [*loadable, *(each for each in ranked if not each.is_loadable)]),
        best.name if best else None,
        furthest.position,
        voters,
        at_hand,
        tuple(voter for voter, holder in holders.items() if not holder),
        is_complete,
        max(_shared_by_majority(voters, list(holders.values()), furthest.position.epoch), *proven),
    )


def _rank(copy: CopyFacts) -> tuple[int, int, bool, bool, str]:
    """Sort the furthest first, of equals a whole log and a voter's before others."""
    return -copy.position.epoch, -copy.position.end_offset, not copy.is_whole, not _is_voter(copy), copy.name


def _is_voter(copy: CopyFacts) -> bool:
    return copy.voters is not None and any(each.is_at(copy.node_id, copy.directory_id) for each in copy.voters.voters)


def _voters_of(copies: Sequence[CopyFacts], furthest: LogPosition) -> VoterSet | None:
    """Return the voters as the furthest of the copies have them, from the log itself if it says so."""
    named = [each.voters for each in copies if each.position == furthest and each.voters is not None]
    return min(named, key=lambda each: not each.is_dynamic, default=None)


def _holder(voter: Voter, copies: Sequence[CopyFacts]) -> CopyFacts | None:
    """Return the copy of a voter's that has all that it acknowledged."""
    return next((each for each in copies if each.is_whole and voter.is_at(each.node_id, each.directory_id)), None)


def _shared_by_majority(voters: VoterSet | None, holders: Sequence[CopyFacts | None], epoch: int) -> int:
    """Return up to where a majority has records of the latest epoch, and knew of no later one when it was copied.

    Whoever is elected later has these too. Records of an earlier epoch are not safe on a majority alone: it may have
    fetched them from a later leader, and whoever has another later epoch may still replace them.
    """
    ends = sorted(
        (each.position.end_offset for each in holders if each and each.position.epoch == each.current_epoch == epoch),
        reverse=True,
    )
    return ends[voters.majority - 1] if voters is not None and len(ends) >= voters.majority else 0
