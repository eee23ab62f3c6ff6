"""Who may use a replica that has less than its broker's checkpoint files have said of it."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.files.broker.kept_claims import Claims
from replication.cluster.broker.partitions.lost_replica import is_counted_on, may_be_used
from replication.records.leadership.partition_change import partition_change
from replication.records.leadership.rules import Rules
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import NO_LEADER

ME, OTHERS = 1, (2, 3)
ALL = (ME, *OTHERS)
CUT = Shortfall(
    directory=Path("orders-0"), claims=Claims(recovery_point=9, high_watermark=9), first_offset=0, log_end_offset=4
)
GONE = replace(CUT, first_offset=None, log_end_offset=None)
UNFLUSHED = replace(CUT, claims=Claims(recovery_point=4, high_watermark=9))
WITH_ELIGIBLE = Rules(elr=True)
SUBSETS = st.lists(st.sampled_from(ALL), unique=True).map(tuple)


@st.composite
def leaderless(draw: st.DrawFn) -> PartitionRegistration:
    """With eligible leader replicas, or without: then somebody is in sync."""
    isr = draw(SUBSETS)
    rest = tuple(each for each in ALL if each not in isr)
    elr = draw(st.lists(st.sampled_from(rest), unique=True).map(tuple)) if rest else ()
    return PartitionRegistration(
        replicas=draw(st.permutations(ALL).map(tuple)),
        isr=isr,
        leader=NO_LEADER,
        elr=elr,
        last_known_elr=draw(SUBSETS),
    )


@given(leaderless(), SUBSETS, st.integers(1, 3))
def test_one_that_nobody_counts_on_is_never_elected_cleanly(
    state: PartitionRegistration, active: tuple[int, ...], min_isr: int
) -> None:
    """The oracle is the controller's own decision."""
    changed = partition_change(state, {ME, *active}.__contains__, rules=WITH_ELIGIBLE, min_isr=min_isr)
    if not is_counted_on(ME, state):
        assert changed.get("leader") != ME


@given(leaderless())
def test_one_that_is_counted_on_is_elected_once_it_is_alone(state: PartitionRegistration) -> None:
    changed = partition_change(state, {ME}.__contains__, rules=WITH_ELIGIBLE, min_isr=2)
    is_first = ME in (state.isr or state.elr) or not (state.isr or state.elr)
    if is_counted_on(ME, state) and is_first:
        assert changed.get("leader") == ME


@given(
    state=leaderless(),
    leader=st.sampled_from([NO_LEADER, *ALL]),
    short=st.sampled_from([CUT, GONE, UNFLUSHED]),
    unclean_allowed=st.booleans(),
)
def test_one_of_several_is_used_only_while_nobody_counts_on_it(
    state: PartitionRegistration, leader: int, short: Shortfall, *, unclean_allowed: bool
) -> None:
    state = replace(state, leader=leader)
    if may_be_used(ME, state, short, unclean_allowed=unclean_allowed):
        assert not is_counted_on(ME, state)
        assert leader in OTHERS or not (short.is_gone or unclean_allowed)
    elif leader in OTHERS:
        assert is_counted_on(ME, state)


def test_the_only_one_is_used_unless_what_it_lacks_was_on_stable_storage() -> None:
    """Nobody else has what a loss of power has taken."""
    state = PartitionRegistration(replicas=(ME,), isr=(ME,), leader=ME)
    assert [may_be_used(ME, state, short) for short in (CUT, GONE, UNFLUSHED)] == [False, False, True]
