"""Numbered records with keys: what a log of them says, however much of it was compacted."""

from hypothesis import given
from hypothesis import strategies as st

from tests.replication.cluster.node.joining.chaos.compaction.keyed_records import keyed_record, last_writes, state_of

COUNTS = st.integers(min_value=0, max_value=500)


@given(COUNTS, st.sets(st.integers(min_value=0, max_value=499)))
def test_what_was_written_of_each_key_last_says_all_of_it(count: int, kept_beside: set[int]) -> None:
    kept = sorted(last_writes(count) | {each for each in kept_beside if each < count})
    assert state_of(map(keyed_record, kept)) == state_of(map(keyed_record, range(count)))


@given(COUNTS.filter(bool), st.data())
def test_without_one_of_the_last_writes_it_says_something_else_unless_that_deleted(
    count: int, data: st.DataObject
) -> None:
    said = state_of(map(keyed_record, range(count)))
    lost = data.draw(st.sampled_from(sorted(last_writes(count))))
    found = state_of(keyed_record(each) for each in range(count) if each != lost)
    assert found != said or keyed_record(lost).value is None


def test_keys_are_deleted_and_written_anew() -> None:
    records = [keyed_record(number) for number in range(500)]
    deleted = {record.key for record in records if record.value is None}
    assert deleted & state_of(records).keys()
    assert deleted - state_of(records).keys()
