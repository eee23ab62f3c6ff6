"""What is called unreadable is what Kafka's own consumer does not read, and what its loader refuses is an error."""

import shutil
import struct
import zlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logstore.batch.compression.codec import Codec, compress
from logstore.verify import Finding, Severity
from tests.logstore.batches import TRANSACTIONAL, batch, record
from tests.logstore.verify.logs import findings, write_log
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

_DIRECTORIES = count()
UNREADABLE = "record-unreadable"
SLOW_IN_PARTS = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def consumer(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "BatchOracle") as program:
        yield program


@pytest.fixture(scope="module")
def loader(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "LogOracle") as program:
        yield program


def written(root: Path, *batches: bytes) -> Path:
    """A log of its own for each example."""
    parent = root / str(next(_DIRECTORIES))
    parent.mkdir()
    return write_log(parent, {0: list(batches)})


def told(directory: Path) -> list[Finding]:
    return [each for each in findings(directory, records=True) if each.kind != "offset-gap"]


def is_read(consumer: JavaProgram, directory: Path) -> bool:
    [answer] = consumer.ask(f"read {directory / f'{0:020d}.log'}")
    return "Exception" not in answer and "Error" not in answer


def is_loaded(loader: JavaProgram, directory: Path) -> bool:
    """Whether a broker that was killed starts with the log, and keeps all of it."""
    copy = shutil.copytree(directory, directory.parent / "copy-0")
    size = (copy / f"{0:020d}.log").stat().st_size
    [answer] = loader.ask(f"open {copy} clean=false recoveryPoint=0")
    if answer.startswith("ERR"):
        return False
    loader.ask("close")
    return (copy / f"{0:020d}.log").stat().st_size == size


CODECS = st.sampled_from(list(Codec))
RECORDS = st.lists(
    st.builds(
        record,
        offset_delta=st.integers(-1, 6),
        timestamp_delta=st.integers(-(2**63), 2**63 - 1),
        key=st.none() | st.binary(max_size=5),
        value=st.none() | st.binary(max_size=20),
        headers=st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=2),
        header_count=st.sampled_from([None] * 8 + [-1, 1, 3, 1 << 20]),
        length=st.sampled_from([None] * 12 + [-1, 0, 3, 9, 200]),
    ),
    max_size=5,
)


@SLOW_IN_PARTS
@given(
    records=RECORDS, codec=CODECS, count_off_by=st.sampled_from([0] * 6 + [-1, 1]), last=st.integers(0, 6),
    change=st.sampled_from([None] * 5 + list(range(40))), rest=st.sampled_from([b""] * 6 + [b"\0", b"rest" * 9]),
    wide=st.sampled_from([0] * 5 + [0x80, 0x4000]),
)  # fmt: skip
def test_batches_are_called_unreadable_where_the_consumer_fails(
    tmp_path: Path, consumer: JavaProgram, records: list[bytes], codec: Codec, count_off_by: int, last: int,
    change: int | None, rest: bytes, wide: int,
) -> None:  # fmt: skip
    section = bytearray(b"".join(records) + rest)
    if change is not None and change < len(section):
        section[change] ^= 0x81
    number = max(0, len(records) + count_off_by)
    odd = batch(section=compress(codec, section), attributes=codec | wide, record_count=number, last_offset_delta=last)
    directory = written(tmp_path, odd)
    found = told(directory)
    assert is_read(consumer, directory) == (UNREADABLE not in [each.kind for each in found])
    assert UNREADABLE in [each.kind for each in found] or not any(each.severity.is_damage for each in found)


def message(
    offset: int, value: bytes | None, magic: int, attributes: int = 0, length: int | None = None, damage: int = 0,
    rest: bytes = b"",
) -> bytes:  # fmt: skip
    """One message, by its magic; `length` is of its value and may lie, and `rest` follows that."""
    length = (-1 if value is None else len(value)) if length is None else length
    checked = struct.pack(">bb", magic, attributes) + (struct.pack(">q", 5) if magic else b"")
    checked += struct.pack(">ii", -1, length) + (value or b"") + rest
    return struct.pack(">qiI", offset, 4 + len(checked), zlib.crc32(checked) ^ damage) + checked


LEGACY_CODECS = st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.ZSTD])
INNER = st.lists(
    st.builds(
        message,
        offset=st.integers(0, 9),
        value=st.none() | st.binary(max_size=20),
        magic=st.sampled_from([0, 0, 1, 1, 1, 1, 2, -1]),
        attributes=st.sampled_from([0] * 8 + [1, 8, 0x40]),
        length=st.sampled_from([None] * 10 + [-2, 0, 100]),
        damage=st.sampled_from([0] * 10 + [1]),
        rest=st.sampled_from([b""] * 6 + [b"rest"]),
    ),
    max_size=4,
)


@SLOW_IN_PARTS
@given(
    inner=INNER, codec=LEGACY_CODECS, magic=st.integers(0, 1), cut=st.sampled_from([0] * 5 + [1, 7, 16, 30]),
    bare=st.booleans(), attributes=st.sampled_from([0] * 4 + [8, 0x40, 4]),
)  # fmt: skip
def test_wrapped_sets_are_called_unreadable_where_consumer_and_loader_fail(
    tmp_path: Path, consumer: JavaProgram, loader: JavaProgram, inner: list[bytes], codec: Codec, magic: int,
    cut: int, bare: bool, attributes: int,
) -> None:  # fmt: skip
    content = b"".join(inner)
    content = content[: len(content) - cut]
    value = content if bare else compress(codec, content)
    directory = written(tmp_path, message(50, value, magic, codec | attributes))
    found = told(directory)
    errors = [each for each in found if each.kind == UNREADABLE]
    assert is_read(consumer, directory) == (not errors)
    refused = [each for each in errors if "may not start" in each.message]
    assert is_loaded(loader, directory) or refused
    assert [each for each in findings(directory) if each.kind == UNREADABLE] == refused


ODD_HEADERS = {
    "more records than offsets": {"last_offset_delta": 0},
    "a bit that has no meaning": {"attributes": 0x100},
    "a transaction without a producer": {"attributes": TRANSACTIONAL},
    "a producer without an epoch": {"producer_id": 7, "base_sequence": 3},
    "a sequence without a producer": {"base_sequence": 3},
}


@pytest.mark.parametrize("header", ODD_HEADERS.values(), ids=ODD_HEADERS)
def test_what_brokers_and_consumers_take_is_a_warning(
    tmp_path: Path, consumer: JavaProgram, loader: JavaProgram, header: dict[str, int]
) -> None:
    records = [record(offset_delta=number) for number in range(3)]
    odd = batch(records=records, **({"last_offset_delta": 2} | header))
    directory = written(tmp_path, odd, batch(records=[record()], base_offset=3))
    assert is_read(consumer, directory)
    assert is_loaded(loader, directory)
    found = told(directory)
    assert {each.kind for each in found} <= {"batch-header-wrong", "record-offset-wrong"}
    assert {each.severity for each in found} == {Severity.WARNING}


def test_an_unknown_codec_is_an_error(tmp_path: Path, consumer: JavaProgram) -> None:
    directory = written(tmp_path, batch(records=[record()], attributes=6))
    assert not is_read(consumer, directory)
    assert {each.severity for each in told(directory)} == {Severity.ERROR}
