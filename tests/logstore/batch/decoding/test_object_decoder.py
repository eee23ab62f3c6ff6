"""Records of one batch made into objects by the kernel: the same as one by one in plain Python."""

import copy
import marshal
import pickle
from itertools import islice
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.append.encoding import encode_batch
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.decoding.object_decoder import ObjectDecoder, Section
from logstore.batch.decoding.plain_records import PlainRecords
from logstore.batch.record import Header, Record
from logstore.errors import LogStoreError
from logstore.kernels.objects import write_objects
from tests.logstore.batches import batch, record
from tests.logstore.kernels import twins
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import LYING_RECORDS, RECORDS


def found(data: bytes, *, plain: bool) -> tuple[list[Record], str]:
    """The records of a batch up to an error, and the error."""
    records: list[Record] = []
    with patch.object(PlainRecords, "covers", lambda _, __: plain):
        try:
            records.extend(RecordBatch(memoryview(data), file="f.log").records())
        except LogStoreError as error:
            return records, f"{type(error).__name__}: {error}"
    return records, ""


def agrees(data: bytes) -> tuple[list[Record], str]:
    expected = found(data, plain=True)
    assert found(data, plain=False) == expected
    return expected


@settings(max_examples=EXAMPLES)
@given(
    st.lists(RECORDS | LYING_RECORDS, max_size=6),
    st.none() | st.integers(0, 9),
    st.binary(max_size=2),
    st.sampled_from([0, 8]),
)
def test_records_and_faults_are_those_of_plain_python(
    records: list[bytes], count: int | None, behind: bytes, attributes: int
) -> None:
    agrees(batch(section=b"".join(records) + behind, record_count=count or len(records), attributes=attributes))


@settings(max_examples=EXAMPLES)
@given(st.lists(RECORDS | LYING_RECORDS, max_size=4), st.integers(0, 200), st.integers(100, 300))
def test_the_kernel_writes_what_its_twin_reads(records: list[bytes], lowest: int, highest: int) -> None:
    data = b"".join(records)
    numbers, written = np.empty((3, 8), np.int64), np.empty((3, 4_096), np.uint8)
    place = np.zeros(4, np.int64)
    sections = np.array([0, len(data), len(records), 100, highest, 1_000, 0])
    rows, keys, parts, state = write_objects(guarded(data), sections, place, lowest, *numbers, *written)
    expected, fault = twins.objects(data, len(records), (100, highest), 1_000)
    chosen = [each for each in expected if each.offset >= lowest]
    assert numbers[:, :rows].T.tolist() == [[each.offset, each.timestamp, len(each.headers)] for each in chosen]
    made = [marshal.loads(each.data) for each in written]  # noqa: S302  the kernel has written it
    parts_of_all = [part for each in chosen for header in each.headers for part in header]
    assert made == [tuple(each.key for each in chosen), tuple(each.value for each in chosen), tuple(parts_of_all)]
    assert keys == sum(each.key is not None for each in chosen)
    assert parts == sum(2 * len(each.headers) for each in chosen)
    assert state == int(fault is not None)
    assert place[1] == (0 if fault is None else fault)


@pytest.mark.parametrize("codec", Codec)
def test_thousands_of_records_come_in_parts(codec: Codec) -> None:
    written = [Record(-1, number, b"k" * (number % 3), b"v" * (number % 200)) for number in range(9_000)]
    records, error = agrees(bytes(encode_batch(written, template=BatchTemplate(codec=codec))))
    assert [each._replace(offset=-1) for each in records] == written
    assert not error


@pytest.mark.parametrize("size", [1 << 15, 1 << 18, 3 << 20])
def test_records_larger_than_what_is_made_at_once_are_whole(size: int) -> None:
    headers = tuple(Header("", None if number % 2 else b"") for number in range(size // 100))
    written = [Record(-1, 5, b"k" * size, None, headers), Record(-1, 5, None, b"v" * size), Record(-1, 5, b"", b"")]
    records, _ = agrees(bytes(encode_batch(written)))
    assert [each._replace(offset=-1) for each in records] == written


def test_the_first_record_does_not_wait_for_thousands() -> None:
    data = b"".join(record(offset_delta=number) for number in range(5_000))
    runs = ObjectDecoder().runs(memoryview(data), [Section(0, len(data), 5_000, 0, 5_000, 0, False)])
    assert [sum(1 for _ in run) for run in islice(runs, 4)] == [256, 1_024, 2_048, 1_672]


def test_headers_keys_that_are_no_text_are_shown_as_far_as_they_are() -> None:
    [made], _ = agrees(batch(records=[record(headers=[(b"\xff\xc3\xa9", b"x"), (b"", None)])]))
    assert made.headers == (Header("\N{REPLACEMENT CHARACTER}é", b"x"), Header("", None))


def test_what_is_made_is_a_record_as_any_other() -> None:
    [made] = found(batch(records=[record(key=b"k", value=b"v", headers=[(b"h", b"x")])]), plain=False)[0]
    assert type(made) is Record
    assert made == Record(0, 1_000, b"k", b"v", (Header("h", b"x"),))
    assert hash(made) == hash(copy.copy(made))
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301  as written
    with pytest.raises(AttributeError):
        made.value = b""  # type: ignore[misc]


def test_plain_python_decodes_few_records_and_never_again_many_once_there_were() -> None:
    plain = PlainRecords(100)
    assert plain.covers(60)
    assert not plain.is_spent
    assert not plain.covers(60)
    assert plain.is_spent
    assert plain.covers(1), "a call of the kernel takes longer than a record"
    assert not plain.covers(60)
