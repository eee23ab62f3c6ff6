"""Digests of ranges: the same however a log is cut and ordered, and compact enough to be sent about."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.columns import BatchColumns
from logstore.kernels.column_scan import scan
from replication.copies.audit.examination.range_digests import RANGE_BITS, RangeDigests
from tests.logstore.batches import simple_batch

offsets = st.lists(
    st.integers(0, 5).flatmap(lambda n: st.integers(0, 3).map(lambda m: (n << RANGE_BITS) + m)), max_size=20
)


def columns(base_offsets: list[int]) -> BatchColumns:
    data = b"".join(simple_batch(offset, [b"a", b"b"]) for offset in base_offsets)
    return scan(np.frombuffer(data, np.uint8), check_crc=True)


def digests(*parts: list[int]) -> RangeDigests:
    whole = RangeDigests()
    for part in parts:
        whole.add(columns(part))
    return whole


@given(offsets, st.randoms(use_true_random=False), st.integers(0, 20))
def test_parts_in_any_order_give_the_whole(base_offsets: list[int], random: Random, cut: int) -> None:
    whole = digests(base_offsets)
    shuffled = random.sample(base_offsets, len(base_offsets))
    assert digests(shuffled[:cut], shuffled[cut:]) == whole
    assert RangeDigests.merged([digests(shuffled[cut:]), digests(shuffled[:cut])]) == whole
    assert RangeDigests.from_bytes(whole.to_bytes()) == whole


@given(offsets)
def test_a_row_tells_what_its_range_holds(base_offsets: list[int]) -> None:
    rows = digests(base_offsets).rows
    assert rows["range"].tolist() == sorted({offset >> RANGE_BITS for offset in base_offsets})
    for row in rows:
        within = [offset for offset in base_offsets if offset >> RANGE_BITS == row["range"]]
        assert (row["batches"], row["records"]) == (len(within), 2 * len(within))
        assert row["bytes"] == len(within) * len(simple_batch(0, [b"a", b"b"]))
        assert (row["first_offset"], row["last_offset"]) == (min(within), max(within) + 1)


@given(offsets, offsets)
def test_other_batches_have_other_digests(base_offsets: list[int], others: list[int]) -> None:
    assert (digests(base_offsets) == digests(others)) == (sorted(base_offsets) == sorted(others))


def test_a_range_takes_64_bytes() -> None:
    assert len(digests([0, 5, 1 << RANGE_BITS]).to_bytes()) == 2 * 64


def test_a_hostile_log_of_as_many_ranges_as_batches_is_summed_up_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.copies.audit.examination.range_digests.PENDING_ROWS", 2)
    scattered = [n << RANGE_BITS for n in (5, 1, 4, 1, 3)]
    assert digests(*([offset] for offset in scattered)).rows["batches"].tolist() == [2, 1, 1, 1]
