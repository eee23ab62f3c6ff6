"""EpochHistory: Kafka's rules, against a model that walks lists. Kafka itself is asked in test_against_kafka."""

import copy
from array import array
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EpochEntry, EpochHistory, InvalidEpochEntryError, LeaderEpochFileCache
from epoch.history import added_entries
from tests.epoch.histories import ASKED_EPOCHS, ENTRIES, EPOCHS, OFFSETS, assigned, end_offset, histories


@given(ENTRIES)
def test_assigning_follows_the_model_and_always_rises(entries: list[tuple[int, int]]) -> None:
    history, model = EpochHistory(), list[tuple[int, int]]()
    for epoch, start in entries:
        model = assigned(model, epoch, start)
        history = history.assign(epoch, start)
        assert history.entries == model
        assert history == EpochHistory(model)
        assert all(a.epoch < b.epoch and a.start_offset < b.start_offset for a, b in pairwise(history.entries))
    assert EpochHistory(entries) == history
    assert EpochHistory().assign_many(entries) == history


@given(histories(), st.data())
def test_every_change_leaves_the_answers_right(history: EpochHistory, data: st.DataObject) -> None:
    for change in data.draw(st.lists(st.sampled_from(["assign", "to", "from"]), max_size=4)):
        if change == "assign":
            history = history.assign(data.draw(st.integers(0, 80)), data.draw(st.integers(0, 1_200)))
        elif change == "to":
            history = history.truncate_to(data.draw(st.integers(-1, 1_200)))
        else:
            history = history.truncate_from_start(data.draw(st.integers(-1, 1_200)))
    model = [tuple(entry) for entry in history.entries]
    for epoch in [-2, -1, 0, *(near for known, _ in model for near in (known - 1, known, known + 1)), 2**31 - 1]:
        assert history.end_offset_for(epoch, 5_000) == end_offset(model, epoch, 5_000)


@given(histories(), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 1_200)), min_size=2, max_size=5))
def test_histories_that_follow_the_same_one_are_apart(history: EpochHistory, following: list[tuple[int, int]]) -> None:
    known = [tuple(entry) for entry in history.entries]
    answers = [history.end_offset_for(epoch, 5_000) for epoch in range(-1, 90)]
    successors = [history.assign(*entry).assign(81, 1_300) for entry in following]
    for entry, successor in zip(following, successors, strict=True):
        assert successor.entries == assigned(assigned(list(known), *entry), 81, 1_300)
        assert history != successor
    assert [tuple(entry) for entry in history.entries] == known
    assert (history, hash(history)) == (EpochHistory(known), hash(EpochHistory(known)))
    shown = f"EpochHistory({known})" if len(known) <= 8 else f"EpochHistory({len(known)} entries, the latest "
    assert (len(history), repr(history)[: len(shown)]) == (len(known), shown)
    assert history.latest == (known[-1] if known else None)
    assert history.truncate_to(1_300) is history
    assert [history.end_offset_for(epoch, 5_000) for epoch in range(-1, 90)] == answers
    for epoch in range(85):
        assert history.entry_for(epoch) == next((entry for entry in known if entry[0] == epoch), None)
        assert history.next_entry(epoch) == next((entry for entry in known if entry[0] > epoch), None)
    assert history.epoch_for_offset(1_300) == (known[-1][0] if known else None)


@pytest.mark.usefixtures("restless_threads")
def test_threads_that_let_one_history_go_on_get_one_each() -> None:
    def go_on(worker: int) -> list[EpochHistory]:
        return [history.assign(100 + worker, 1_000 + worker) for history in shared]

    shared = [EpochHistory([(0, 0), (epoch, 10)]) for epoch in range(1, 90)]
    with ThreadPoolExecutor(4) as pool:
        for worker, histories_of_it in enumerate(pool.map(go_on, range(4))):
            for epoch, history in enumerate(histories_of_it, start=1):
                assert history.entries == [(0, 0), (epoch, 10), (100 + worker, 1_000 + worker)]


@given(histories(), st.integers(-5, 1_100))
def test_an_offset_belongs_to_the_last_epoch_that_starts_at_or_before_it(history: EpochHistory, offset: int) -> None:
    led = [epoch for epoch, start in history.entries if start <= offset]
    assert history.epoch_for_offset(offset) == (led[-1] if led else None)


@given(histories(), st.tuples(st.integers(61, 80), st.integers(1_001, 1_200)), st.sampled_from([0, 2**40]))
def test_who_asks_again_is_told_the_same_writers_by_a_history_and_its_cache(
    history: EpochHistory, following: tuple[int, int], far: int
) -> None:
    history = EpochHistory((epoch, start + far) for epoch, start in history.entries)
    successor = history.assign(following[0] * 1_000_000, following[1] + far)
    offsets = [-5, -1, *(far + offset for offset in range(1_210))]
    for asked in (history, successor):
        cache = LeaderEpochFileCache(asked)
        writers = [
            next((epoch for epoch, start in reversed(asked.entries) if start <= offset), None) for offset in offsets
        ]
        for ask in (asked.epoch_for_offset, asked.epoch_for_offset, cache.epoch_for_offset):
            assert [ask(offset) for offset in offsets] == writers
        ends = [asked.end_offset_for(epoch, 5_000) for epoch in range(-1, 90)]
        assert [cache.end_offset_for(epoch, 5_000) for epoch in range(-1, 90)] == ends


@pytest.mark.parametrize(("apart", "cells"), [(64, 64), (1, 8)])
def test_who_wrote_each_cell_is_kept_once_it_was_asked(apart: int, cells: int) -> None:
    history = EpochHistory((epoch, 2**40 + apart * epoch) for epoch in range(9))
    for offset in range(2**40, 2**40 + 8 * apart):
        assert history.epoch_for_offset(offset) == (offset - 2**40) // apart
    each = 8 * apart // cells
    assert history._writers == {2**40 // each + cell: cell * 8 // cells for cell in range(cells)}


@pytest.mark.parametrize(("size", "most"), [(4_096, 65_536), (4_097, 0)])
def test_of_so_many_epochs_at_most_writers_are_kept(size: int, most: int) -> None:
    history = EpochHistory((epoch, 10**12 + 1_000 * epoch) for epoch in range(size))
    for offset in range(10**12, 10**12 + 1_000 * (size - 1), 7):
        assert history.epoch_for_offset(offset) == (offset - 10**12) // 1_000
    assert most // 3 <= len(history._writers or ()) <= most


def test_only_where_something_else_follows_already_are_entries_copied() -> None:
    history = EpochHistory([(1, 10)])
    first, second = history.assign(2, 20), history.assign(3, 30)
    assert first._epochs is history._epochs is not second._epochs
    assert second.assign(4, 40)._epochs is second._epochs


def test_what_was_added_to_a_history_is_known_where_it_went_on() -> None:
    history = EpochHistory([(1, 10), (2, 20)])
    successor = history.assign(3, 30).assign(4, 40)
    assert added_entries(successor, history) == [(3, 30), (4, 40)]
    assert added_entries(history, history) == []
    assert added_entries(history, successor) is None
    assert added_entries(history.assign(5, 50), successor) is None


def test_offsets_may_be_numpys_of_32_bits() -> None:
    history = EpochHistory([(1, 0), (2, 2**31 - 100), (3, 2**31 - 60), (4, 2**40)])
    for _ in range(2):
        assert [history.epoch_for_offset(np.int32(2**31 - 1 - back)) for back in (0, 50, 70, 200)] == [3, 3, 2, 1]


@given(histories())
def test_a_copied_history_is_the_same_and_goes_on_apart(history: EpochHistory) -> None:
    successor = history.assign(2**31 - 1, 2_000)
    copied = copy.deepcopy(history)
    assert copied == history
    assert copied.assign(2**31 - 1, 2_000) == successor


@given(histories(), ASKED_EPOCHS)
def test_neighbours_of_an_epoch(history: EpochHistory, epoch: int) -> None:
    known = history.entries
    assert history.entry_for(epoch) == next((entry for entry in known if entry.epoch == epoch), None)
    assert history.next_entry(epoch) == next((entry for entry in known if entry.epoch > epoch), None)
    assert history.previous_entry(epoch) == next((entry for entry in reversed(known) if entry.epoch < epoch), None)


@given(histories(), st.integers(-5, 1_100))
def test_truncating_the_end_forgets_what_starts_there_or_later(history: EpochHistory, offset: int) -> None:
    kept = [entry for entry in history.entries if offset < 0 or entry.start_offset < offset]
    assert history.truncate_to(offset).entries == kept


@given(histories(), st.integers(-5, 1_100))
def test_truncating_the_start_moves_the_covering_entry(history: EpochHistory, offset: int) -> None:
    cut = history.truncate_from_start(offset)
    assert cut.epoch_for_offset(offset) == history.epoch_for_offset(offset)
    assert [entry for entry in cut.entries if entry.start_offset > offset] == [
        entry for entry in history.entries if entry.start_offset > offset
    ]
    first = history.earliest
    if first is not None and offset >= first.start_offset:
        assert cut.earliest is not None
        assert cut.earliest.start_offset == offset
        assert len(cut) == 1 + len([entry for entry in history.entries if entry.start_offset > offset])
    else:
        assert cut is history


def test_no_log_ends_before_offset_0_so_nothing_is_truncated_to() -> None:
    history = EpochHistory([(2, 10), (5, 30)])
    assert history.truncate_to(-1) is history
    assert history.truncate_to(0).entries == []


def test_the_last_epoch_and_offset_there_can_be_are_taken() -> None:
    last = (2**31 - 1, 2**63 - 1)
    assert EpochHistory([(1, 2)]).assign(*last).entries == [(1, 2), last]
    assert EpochHistory([(1, 2), last]).entries == [(1, 2), last]


def test_the_latest_epoch_at_or_after_its_start_changes_nothing() -> None:
    history = EpochHistory([(2, 10), (5, 30)])
    assert history.assign(5, 30) is history
    assert history.assign(5, 31) is history
    assert history.assign(5, 29).entries == [(2, 10), (5, 29)]


def test_who_asks_again_gets_the_same_answer_and_only_so_many_are_kept() -> None:
    entries = [(0, 10), (1_000, 20), (2_000, 30)]
    history = EpochHistory(entries)
    for log_end_offset in (40, 50):
        for epoch in range(-1, 2_002):
            assert history.end_offset_for(epoch, log_end_offset) == end_offset(entries, epoch, log_end_offset)
    assert len(history._answers) == 12


def test_edges_of_an_empty_history() -> None:
    empty = EpochHistory()
    assert (empty.earliest, empty.latest, empty.latest_epoch, empty.previous_epoch) == (None, None, None, None)
    assert (len(empty), empty.entries, empty.columns) == (0, [], (array("q"), array("q")))
    assert empty.truncate_to(0) is empty
    assert empty.truncate_from_start(5) is empty


def test_edges_of_a_history() -> None:
    history = EpochHistory([(2, 10), (5, 30)])
    assert (history.earliest, history.latest) == (EpochEntry(2, 10), EpochEntry(5, 30))
    assert (history.latest_epoch, history.previous_epoch) == (5, 2)
    assert history.columns == (array("q", [2, 5]), array("q", [10, 30]))
    assert repr(history) == "EpochHistory([(2, 10), (5, 30)])"
    assert {history, EpochHistory([(2, 10), (5, 30)])} == {history}
    assert (history == [(2, 10), (5, 30)]) is False
    assert EpochHistory([(2, 10)]).previous_epoch is None


@pytest.mark.parametrize(("epoch", "start"), [(-1, 3), (2, -1), (2**31, 0), (2**31, 3), (0, 2**63), (2, 2**63)])
def test_what_no_leader_can_have_is_refused(epoch: int, start: int) -> None:
    with pytest.raises(InvalidEpochEntryError, match=rf"epoch {epoch} cannot start at offset {start}") as refused:
        EpochHistory([(1, 2)]).assign(epoch, start)
    assert (refused.value.epoch, refused.value.start_offset) == (epoch, start)
    with pytest.raises(ValueError, match="cannot start"):
        EpochHistory([(1, 2), (epoch, start)])
    with pytest.raises(ValueError, match="cannot start"):
        EpochHistory([(epoch, start)])


# --- recovery


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[int, int]]:
    """(epoch, base offset) of each batch of a log; epochs never fall."""
    epochs = sorted(draw(st.lists(EPOCHS, max_size=20)))
    sizes = draw(st.lists(st.integers(1, 5), min_size=len(epochs), max_size=len(epochs)))
    return [(epoch, sum(sizes[:position])) for position, epoch in enumerate(epochs)]


def led_by(batches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The model of a rebuilt history: the first batch of each epoch."""
    first: dict[int, int] = {}
    for epoch, base_offset in batches:
        first.setdefault(epoch, base_offset)
    return list(first.items())


@given(logs())
def test_a_history_can_be_rebuilt_from_the_batches(batches: list[tuple[int, int]]) -> None:
    assert EpochHistory.from_batches(batches).entries == led_by(batches)


def test_batches_without_an_epoch_and_falling_epochs_say_nothing() -> None:
    batches = [(-1, 0), (2, 4), (1, 8), (-1, 9), (2, 10), (5, 12)]
    assert EpochHistory.from_batches(batches).entries == [(2, 4), (5, 12)]


@given(ENTRIES, logs(), OFFSETS)
def test_any_file_is_completed_from_the_whole_log(
    entries: list[tuple[int, int]], batches: list[tuple[int, int]], start: int
) -> None:
    end = batches[-1][1] + 1 if batches else 0
    start = min(start, end)
    found = EpochHistory(entries).reconcile(batches, log_start_offset=start, log_end_offset=end)
    for epoch, base_offset in batches:
        if base_offset >= start:
            assert found.epoch_for_offset(base_offset) == epoch
    assert all(start <= entry.start_offset < max(end, start + 1) for entry in found.entries)


@given(logs(), OFFSETS, st.data())
def test_a_right_history_needs_only_the_batches_of_the_recovered_tail(
    batches: list[tuple[int, int]], recovery_point: int, data: st.DataObject
) -> None:
    truth = EpochHistory(led_by(batches))
    end = batches[-1][1] + 1 if batches else 0
    tail = [batch for batch in batches if batch[1] >= recovery_point]
    known = EpochHistory(truth.entries[: data.draw(st.integers(0, len(truth)))])
    lost = [entry for entry in truth.entries if entry not in known.entries and entry.start_offset < recovery_point]
    found = known.reconcile(tail, log_start_offset=0, log_end_offset=end)
    if not lost:
        assert found == truth
    assert truth.reconcile(tail, log_start_offset=0, log_end_offset=end) == truth


@st.composite
def any_logs(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Batches whose epochs go up and down."""
    epochs = draw(st.lists(st.integers(0, 5), min_size=1, max_size=12))
    return [(epoch, 3 * number) for number, epoch in enumerate(epochs)]


@given(any_logs(), st.integers(0, 40), st.data())
def test_epochs_that_went_back_are_the_same_after_recovery(
    batches: list[tuple[int, int]], recovery_point: int, data: st.DataObject
) -> None:
    end = batches[-1][1] + 3
    start = data.draw(st.integers(0, end - 1))
    assigned = EpochHistory(batches)
    kept = assigned.truncate_from_start(start)
    tail = [batch for batch in batches if batch[1] >= recovery_point]
    assert kept.reconcile(tail, log_start_offset=start, log_end_offset=end) == kept
    assert EpochHistory().reconcile(batches, log_start_offset=0, log_end_offset=end) == assigned


def test_a_damaged_epoch_is_not_believed_where_the_history_knows_better() -> None:
    history = EpochHistory([(3, 0)])
    damaged = [(3, 0), (0, 10), (3, 20)]
    assert history.reconcile(damaged, log_start_offset=0, log_end_offset=30) == history


def test_an_epoch_whose_batches_were_compacted_away_stays() -> None:
    history = EpochHistory([(1, 0), (2, 10), (3, 20)])
    assert history.reconcile([(1, 0), (3, 25)], log_start_offset=0, log_end_offset=30) == history


def test_an_entry_whose_truncation_was_lost_goes_where_the_log_has_grown_past_it() -> None:
    stale = EpochHistory([(1, 0), (2, 10), (3, 20)])
    grown = [(1, 0), (2, 10), (2, 15), (2, 25)]
    found = stale.reconcile(grown, log_start_offset=0, log_end_offset=30)
    assert found.entries == [(1, 0), (2, 10)]


def test_an_entry_goes_that_a_batch_of_an_earlier_epoch_at_its_start_contradicts() -> None:
    stale = EpochHistory([(5, 10)])
    assert stale.reconcile([(3, 10)], log_start_offset=0, log_end_offset=20).entries == [(3, 10)]


def test_an_epoch_that_was_taken_up_again_starts_where_that_was() -> None:
    again = EpochHistory([(1, 15)])
    assert again.reconcile([(1, 0), (3, 10), (1, 20)], log_start_offset=0, log_end_offset=30) == again


def test_an_entry_goes_that_starts_after_the_first_batch_of_its_epoch() -> None:
    late = EpochHistory([(3, 20)])
    assert late.reconcile([(1, 0), (3, 10)], log_start_offset=0, log_end_offset=30).entries == [(1, 0), (3, 10)]
    assert late.reconcile([(3, 10)], log_start_offset=0, log_end_offset=30).entries == [(3, 10)]
