"""What cannot be known from the copies at hand, in words."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from replication.copies.planning.raft_log import contradicting_epoch
from replication.copies.quorum_recovery.decision import Decision
from replication.copies.quorum_recovery.metadata_copy import Effect, MetadataCopy
from replication.copies.quorum_recovery.voter_set import Voter


def doubts_of(copies: Sequence[MetadataCopy], decision: Decision) -> tuple[str, ...]:
    """Return what is wrong with the copies, and what may have been committed that is in none of them."""
    return (
        *contradictions(copies),
        *_of_voters(copies, decision),
        *_of_faults(copies),
        *_of_what_goes_further(copies, decision),
    )


def contradictions(copies: Sequence[MetadataCopy]) -> Iterator[str]:
    """Yield which copies cannot be of one quorum: nothing is certain then."""
    for one, other in combinations(sorted(copies, key=lambda copy: copy.name), 2):
        epoch = contradicting_epoch(one.log, other.log)
        if epoch is not None:
            yield (
                f"{one.name} and {other.name} contradict each other, as epoch {epoch} begins at different offsets: "
                "they are not of one quorum, or one was formatted again. Leave out those that are not the cluster's"
            )


def _of_voters(copies: Sequence[MetadataCopy], decision: Decision) -> Iterator[str]:
    voters = decision.voters
    if voters is None:
        yield (
            "which controllers have a vote is not known: the best copy has no VotersRecord, no quorum-state that lists "
            "them, and no record of an election. So it cannot be known what was committed without these copies"
        )
        return
    unknown = sorted(each.name for each in copies if each.node_id is None)
    if unknown and len(decision.at_hand) < voters.sufficient:
        yield (
            f"whose {_is(unknown)} is not known: there is no meta.properties beside the partition's directory. It does "
            "not count as a voter's; copy that file too"
        )
    if len(decision.at_hand) >= voters.sufficient:
        return
    hands = f"only {controllers(decision.at_hand)}" if decision.at_hand else "none"
    yield (
        f"of the {len(voters.voters)} voters {hands} {'is' if len(decision.at_hand) < 2 else 'are'} at hand, and it "
        f"takes {voters.sufficient} to be certain: what {controllers(decision.missing)} committed by themselves is in "
        "none of these copies, and whether there is such a thing cannot be known from them"
    )
    yield from _of_epochs(copies, decision)


def controllers(voters: Sequence[Voter]) -> str:
    """Name some controllers by their ids."""
    one = "controller" if len(voters) == 1 else "controllers"
    return f"{one} {', '.join(str(each.node_id) for each in voters)}"


def _is(names: Sequence[str]) -> str:
    return f"{', '.join(names)} is" if len(names) == 1 else f"{', '.join(names)} are"


def _of_epochs(copies: Sequence[MetadataCopy], decision: Decision) -> Iterator[str]:
    """Yield what is known of the latest leaders, where too few voters are at hand."""
    furthest = decision.furthest
    if furthest is None:
        return
    leaders = [copy for copy in copies if copy.led_its_last_epoch and copy.log.position == furthest]
    for copy in leaders:
        yield (
            f"{copy.name} led epoch {furthest.epoch} itself, so all that was committed in that epoch is in its copy: "
            "only a later leader can have committed more"
        )
    states = {copy.name: copy.quorum_state for copy in copies if copy.quorum_state}
    for name, state in sorted(states.items()):
        if state.leader_epoch <= furthest.epoch:
            continue
        led = f", led by controller {state.leader_id}" if state.leader_id >= 0 else ""
        yield (
            f"{name} has heard of epoch {state.leader_epoch}{led}, of which no copy has a record: what was "
            "committed in it is missing"
        )


def _of_faults(copies: Sequence[MetadataCopy]) -> Iterator[str]:
    consequences = {
        Effect.ENDS_EARLY: "; what its controller acknowledged beyond is not in it, so it does not count as a voter's",
        Effect.CANNOT_START: "; no controller starts with it",
        Effect.DOUBTFUL: "",
    }
    for copy in sorted(copies, key=lambda copy: copy.name):
        for fault in copy.faults:
            yield f"{copy.name}: {fault.message}{consequences[fault.effect]}"


def _of_what_goes_further(copies: Sequence[MetadataCopy], decision: Decision) -> Iterator[str]:
    best = next((each for each in copies if each.name == decision.best), None)
    if decision.furthest is None or (best is not None and best.log.position == decision.furthest):
        return
    further = sorted(each.name for each in copies if each.log.position == decision.furthest)
    yield (
        f"{_is(further)} at {decision.furthest}, further than any copy with which a controller starts: mend it, and "
        "what it has is not lost"
    )
