"""Whether a copy of the metadata agrees with its leader's log: beside a model that knows every record."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from epoch import EndOffset, EpochHistory
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.cluster.standalone.quorum.fetch_decisions import departure
from replication.wire.messages.fetch import SnapshotId

Epochs = list[int]
"""The epoch of each record, by offset."""


def state_of(epochs: Epochs, start: int = 0) -> FollowedLogState:
    """A log that begins at an offset, with the epoch of the record before it, as a snapshot has it."""
    first = max(start - 1, 0)
    history = EpochHistory.from_batches([(epoch, first + index) for index, epoch in enumerate(epochs[first:])])
    return FollowedLogState(start, len(epochs), len(epochs), history)


def common(one: Epochs, other: Epochs) -> int:
    """How many records two logs have in common."""
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(map(len, (one, other)))
    )


EPOCHS = st.lists(st.integers(0, 2), max_size=12).map(lambda steps: list(accumulate(steps)))
"""They begin with 0 or later, and never fall."""


@st.composite
def forked(draw: st.DrawFn) -> tuple[Epochs, Epochs]:
    """The leader's log and a copy, which have something in common, and which no epoch wrote both of after that."""
    shared = draw(EPOCHS)
    last = shared[-1] if shared else 0
    leaders = [last + 1 + 2 * each for each in draw(EPOCHS)]
    copied = [last + 2 + 2 * each for each in draw(EPOCHS)]
    return shared + leaders, shared + copied


@given(forked())
def test_a_copy_is_led_back_to_what_both_have_in_common_and_goes_on_there(logs: tuple[Epochs, Epochs]) -> None:
    leaders, copy = logs
    log = state_of(leaders)
    in_common = common(leaders, copy)
    for _ in range(len(copy) + 1):
        found = departure(log, (), len(copy), copy[-1] if copy else 0)
        if found is None:
            break
        assert isinstance(found, EndOffset)
        kept = [epoch for epoch in copy if epoch <= found.epoch][: found.end_offset]
        assert in_common <= len(kept) < len(copy), "each answer cuts off something, and nothing that both have"
        copy = kept
    assert copy == leaders[: len(copy)]
    assert len(copy) == in_common


@given(EPOCHS.filter(bool), st.data())
def test_who_lies_before_the_logs_start_gets_the_snapshot_and_who_has_all_of_it_goes_on(
    leaders: Epochs, data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(leaders)))
    snapshot_id = SnapshotId(start, leaders[start - 1])
    log = state_of(leaders, start)
    offset = data.draw(st.integers(0, len(leaders)))
    found = departure(log, [snapshot_id], offset, leaders[offset - 1] if offset else 0)
    assert found == (snapshot_id if offset < start else None)


@given(EPOCHS.filter(bool), st.data())
def test_who_has_all_before_the_logs_start_goes_on_however_late_the_latest_snapshot_is(
    leaders: Epochs, data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(leaders)))
    end = data.draw(st.integers(start, len(leaders)))
    offset = data.draw(st.integers(start, len(leaders)))
    kept = [SnapshotId(each, leaders[each - 1]) for each in (start, end)]
    assert departure(state_of(leaders, start), kept, offset, leaders[offset - 1]) is None


@given(EPOCHS.filter(bool), st.data())
def test_a_copy_that_ends_at_the_snapshot_in_another_epoch_gets_the_snapshot(
    leaders: Epochs, data: st.DataObject
) -> None:
    start = data.draw(st.integers(1, len(leaders)))
    snapshot_id = SnapshotId(start, leaders[start - 1])
    other = data.draw(st.integers(0, leaders[start - 1]).filter(lambda epoch: epoch != snapshot_id.epoch))
    assert departure(state_of(leaders, start), [snapshot_id], start, other) == snapshot_id


def test_an_empty_copy_begins_with_the_snapshot_even_where_the_log_goes_back_to_the_first_record() -> None:
    log = state_of([0, 0, 1])
    assert departure(log, (), 0, 0) is None
    assert departure(log, [SnapshotId(2, 0)], 0, 0) == SnapshotId(2, 0)
