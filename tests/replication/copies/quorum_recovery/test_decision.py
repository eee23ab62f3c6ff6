"""Whatever copies are given: if a copy is said to have all that was committed, it has it."""

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest

from replication.copies.planning.raft_log import LogPosition
from replication.copies.quorum_recovery.decision import CopyFacts, Decision, decide
from replication.copies.quorum_recovery.voter_set import Voter, VoterSet, VotersSource
from tests.campaign import Campaign
from tests.replication.copies.quorum_recovery.raft_simulation import Node, Quorum, common_end

HISTORIES = Campaign("quorum: histories", full=60_000, share=900)
KINDS = [
    pytest.param(voters, is_dynamic, id=f"{voters}{' that change' if is_dynamic else ''}")
    for voters in (3, 4, 5)
    for is_dynamic in (False, True)
]
OFTEN = 1_000
"""Of so many histories some of any kind leave copies of which the one with the highest end offset is wrong."""


def facts(quorum: Quorum, node: Node) -> CopyFacts:
    voters = quorum.voters_of(node)
    source = VotersSource.VOTERS_RECORD if quorum.is_dynamic else VotersSource.QUORUM_STATE
    return CopyFacts(
        name=f"controller-{node.id}",
        position=LogPosition(*node.position),
        node_id=node.id,
        committed_end=max(node.snapshots, default=0),
        voters=VoterSet(tuple(map(Voter, voters)), source),
        current_epoch=node.epoch,
    )


def decided(quorum: Quorum, nodes: Sequence[Node]) -> Decision:
    shuffled = quorum.chance.sample(nodes, len(nodes))
    return decide([facts(quorum, node) for node in shuffled])


@pytest.mark.parametrize(("voters", "is_dynamic"), KINDS)
def test_a_copy_that_is_said_to_be_complete_has_all_that_was_committed(voters: int, *, is_dynamic: bool) -> None:
    complete = incomplete = misleading = lost = 0
    tried = HISTORIES.count // len(KINDS)
    for number in range(tried):
        chance = random.Random(f"{HISTORIES.seed} {voters} {is_dynamic} {number}")
        quorum = Quorum(chance, voters, is_dynamic=is_dynamic)
        quorum.run(chance.randrange(20, 250))
        for size in range(1, len(quorum.nodes) + 1):
            for given in combinations(quorum.nodes, size):
                decision = decided(quorum, given)
                best = next(node for node in given if f"controller-{node.id}" == decision.best)
                has_all = best.log[: len(quorum.committed)] == quorum.committed
                highest = max(given, key=lambda node: node.end)
                if decision.is_complete:
                    complete += 1
                    assert has_all, f"{given}: {decision}"
                    misleading += highest.log[: len(quorum.committed)] != quorum.committed
                else:
                    incomplete += 1
                    lost += not has_all
    assert misleading or (voters == 4 and tried < OFTEN), "the highest end offset alone is never wrong"
    assert lost, "copies of too few voters always have everything"
    HISTORIES.report(
        tried,
        f"{voters}{' changing' if is_dynamic else ''}: {complete:,} of {complete + incomplete:,} "
        f"choices of copies complete, the highest end offset wrong in {misleading:,}",
    )


@pytest.mark.parametrize(("voters", "is_dynamic"), KINDS)
def test_what_is_said_to_be_committed_stays_whatever_happens_next(voters: int, *, is_dynamic: bool) -> None:
    proven = 0
    for number in range(HISTORIES.count // len(KINDS) // 3):
        chance = random.Random(f"{HISTORIES.seed} {voters} {is_dynamic} {number}")
        quorum = Quorum(chance, voters, is_dynamic=is_dynamic)
        quorum.run(chance.randrange(20, 150))
        known = len(quorum.committed)
        said = []
        for size in range(1, len(quorum.nodes) + 1):
            for given in combinations(quorum.nodes, size):
                decision = decided(quorum, given)
                best = next(node for node in given if f"controller-{node.id}" == decision.best)
                said.append(best.log[: decision.committed_end])
                proven += decision.committed_end > known
        quorum.apart = set()
        quorum.run(250)
        for promised in said:
            assert common_end(promised, quorum.committed) == min(len(promised), len(quorum.committed))
    assert proven, "a majority's copies never prove more than the leader knew"


VOTERS = VoterSet(tuple(map(Voter, (1, 2, 3))), VotersSource.QUORUM_STATE)
CHANGING = VoterSet(VOTERS.voters, VotersSource.VOTERS_RECORD)


def copy(node_id: int | None, epoch: int, end_offset: int, **known: Any) -> CopyFacts:
    name = f"controller-{node_id}"
    facts = {"name": name, "position": LogPosition(epoch, end_offset), "node_id": node_id, "voters": VOTERS}
    return CopyFacts(**facts | {"current_epoch": epoch} | known)


def test_a_later_epoch_wins_over_a_higher_end_offset() -> None:
    decision = decide([copy(1, 4, 900), copy(2, 5, 310)])
    assert decision.ranking == ("controller-2", "controller-1")
    assert decision.is_complete
    assert [voter.node_id for voter in decision.missing] == [3]


def test_one_of_three_may_lack_what_the_others_committed() -> None:
    decision = decide([copy(1, 4, 900)])
    assert decision.best == "controller-1"
    assert not decision.is_complete
    assert decision.committed_end == 0


def test_without_voters_nothing_is_certain() -> None:
    decision = decide([copy(1, 4, 900, voters=None), copy(2, 4, 900, voters=None)])
    assert (decision.best, decision.voters, decision.is_complete) == ("controller-1", None, False)


def test_without_copies_there_is_no_choice() -> None:
    decision = decide([])
    assert (decision.best, decision.is_complete, decision.committed_end) == (None, False, 0)


@pytest.mark.parametrize(("voters", "is_dynamic", "given", "is_complete"), [
    (4, False, 2, True), (4, True, 2, False), (4, True, 3, True), (4, False, 1, False),
    (2, False, 1, True), (2, True, 1, False), (1, True, 1, True), (6, False, 3, True), (5, False, 2, False),
])  # fmt: skip
def test_half_of_an_even_number_is_enough_where_voters_never_change(
    voters: int, given: int, *, is_dynamic: bool, is_complete: bool
) -> None:
    source = VotersSource.VOTERS_RECORD if is_dynamic else VotersSource.LEADER_CHANGE
    all_voters = VoterSet(tuple(map(Voter, range(voters))), source)
    assert decide([copy(node, 1, 5, voters=all_voters) for node in range(given)]).is_complete is is_complete


def test_half_of_voters_that_may_change_can_have_been_voted_out() -> None:
    quorum = Quorum(random.Random(0), 4, is_dynamic=True)
    leader = quorum.nodes[2]
    leader.epoch, leader.led_from = 1, 0

    def write(voters: tuple[int, ...] | None, *followers: int) -> None:
        quorum.append(leader, voters)
        for number in followers:
            quorum.nodes[number].log = leader.log[:]
            leader.fetched[number] = leader.end
        quorum.advance(leader)

    write(None, 0, 1, 3)
    write((1, 2, 3), 3)
    write(None, 3)
    assert len(quorum.committed) == 3
    decision = decided(quorum, quorum.nodes[:2])
    assert decision.voters is not None
    assert (len(decision.voters.voters), decision.is_complete) == (4, False)


def test_another_disk_of_a_voter_has_no_vote() -> None:
    disks = VoterSet((Voter(1, "a"), Voter(2, "b"), Voter(3, "c")), VotersSource.VOTERS_RECORD)
    given = [copy(1, 4, 9, directory_id="a", voters=disks), copy(2, 4, 9, directory_id="new", voters=disks)]
    assert not decide(given).is_complete
    assert decide([given[0], copy(2, 4, 9, directory_id="b", voters=disks)]).is_complete


def test_a_copy_of_nobody_known_has_no_vote_but_may_be_the_best() -> None:
    """A broker follows the log too: what it has beyond the controllers' copies may have been committed."""
    decision = decide([copy(1, 4, 9), copy(2, 4, 9), copy(None, 5, 12)])
    assert decision.best == "controller-None"
    assert decision.is_complete
    assert not decide([copy(1, 4, 9), copy(10, 4, 9)]).is_complete


def test_of_equals_a_whole_copy_of_a_voter_comes_first() -> None:
    given = [copy(10, 4, 9), copy(1, 4, 9, is_whole=False), copy(2, 4, 9), copy(3, 4, 8)]
    assert decide(given).ranking == ("controller-2", "controller-10", "controller-1", "controller-3")


def test_a_copy_whose_end_was_lost_is_not_counted() -> None:
    assert not decide([copy(1, 4, 9), copy(2, 4, 5, is_whole=False)]).is_complete


def test_a_copy_with_which_no_controller_starts_comes_last_and_is_remembered() -> None:
    decision = decide([copy(1, 5, 9, is_loadable=False), copy(2, 4, 9), copy(3, 4, 7)])
    assert decision.ranking == ("controller-2", "controller-3", "controller-1")
    assert not decision.is_complete
    assert decision.furthest == LogPosition(5, 9)
    assert decide([copy(1, 5, 9, is_loadable=False)]).best is None


def test_the_voters_are_those_of_the_copy_that_goes_furthest() -> None:
    alone = VoterSet((Voter(2),), VotersSource.VOTERS_RECORD)
    decision = decide([copy(1, 4, 9), copy(2, 5, 3, voters=alone)])
    assert decision.voters == alone
    assert decision.is_complete
    named = [copy(2, 5, 3, voters=VOTERS), copy(1, 5, 3, voters=CHANGING)]
    assert decide(named).voters == CHANGING


def test_what_is_committed_by_snapshots_and_by_a_majority_of_the_latest_epoch() -> None:
    assert decide([copy(1, 4, 9, committed_end=6)]).committed_end == 6
    assert decide([copy(1, 4, 9, committed_end=6), copy(2, 4, 8)]).committed_end == 8
    assert decide([copy(1, 4, 9), copy(2, 4, 8), copy(3, 4, 2)]).committed_end == 8
    assert decide([copy(1, 5, 9), copy(2, 4, 8), copy(3, 4, 8)]).committed_end == 0


@pytest.mark.parametrize("current_epoch", [5, None])
def test_a_majority_that_knows_of_a_later_epoch_proves_nothing_by_an_earlier_one(current_epoch: int | None) -> None:
    """It may have fetched these records from a later leader; one who lacks them, but has a later epoch, is elected."""
    assert decide([copy(1, 4, 9), copy(2, 4, 8, current_epoch=current_epoch)]).committed_end == 0
    decision = decide([copy(1, 4, 9), copy(2, 4, 8), copy(3, 4, 7, current_epoch=current_epoch)])
    assert decision.committed_end == 8
