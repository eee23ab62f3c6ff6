"""A checked log gives what a frozen one gives, up to the first damaged batch of each segment, and nothing of that."""

import random
import shutil
from pathlib import Path

import cramjam
import pytest

from logstore import Codec, Log, LogConfig
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.batches import read_batches
from logstore.batch.layout import CRC_START
from logstore.errors import CorruptBatchError, DecompressionError
from logstore.log.frozen_log import CheckedLog, FrozenLog
from tests.data.replicas import replicas
from tests.logstore.batch.test_legacy_batch import GZIP, message

LEGACY = Path(__file__).parents[2] / "data" / "legacy"
CONFIG = LogConfig(segment_bytes=20_000, index_interval_bytes=500)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "orders-0"
    with Log.open(place, CONFIG) as log:
        for number in range(200):
            codec = Codec.LZ4 if number % 3 == 0 else Codec.NONE
            log.append([b"%d" % number * 30] * 5, leader_epoch=number // 50, template=BatchTemplate(codec=codec))
    return place


def damage(path: Path, number: int) -> int:
    """Flip a bit of a batch, and return its base offset."""
    content = bytearray(path.read_bytes())
    batch = list(read_batches(memoryview(bytes(content))))[number]
    content[batch.position + CRC_START + 30] ^= 4
    path.write_bytes(content)
    return batch.base_offset


def test_sound_logs_are_read_as_ever(directory: Path) -> None:
    rng = random.Random(1)
    with FrozenLog.open(directory) as plain, CheckedLog.open(directory) as checked:
        for _ in range(300):
            offset, size = rng.randrange(plain.log_end_offset), rng.choice([0, 500, 5_000, 1 << 20])
            assert bytes(checked.read(offset, size).data) == bytes(plain.read(offset, size).data)


def test_replicas_of_kafka_are_read_as_ever() -> None:
    for place in sorted(replicas("diverged").glob("broker-*/*-[0-9]")):
        with FrozenLog.open(place) as plain, CheckedLog.open(place) as checked:
            offset = plain.log_start_offset
            while offset < plain.log_end_offset:
                view = plain.read(offset, 1 << 16)
                assert bytes(checked.read(offset, 1 << 16).data) == bytes(view.data)
                offset = view.next_offset


@pytest.mark.parametrize("max_bytes", [1, 1_000, 1 << 20])
@pytest.mark.parametrize("number", [0, 3, 17])
def test_what_precedes_damage_is_read_and_nothing_of_it(directory: Path, max_bytes: int, number: int) -> None:
    path = sorted(directory.glob("*.log"))[1]
    damaged = damage(path, number)
    with CheckedLog.open(directory) as log:
        for _ in range(2):
            offset = log.log_start_offset
            while offset != damaged:
                view = log.read(offset, max_bytes)
                assert all(batch.is_valid() for batch in view.batches())
                assert view.next_offset > offset
                offset = view.next_offset
            with pytest.raises(CorruptBatchError, match="damaged") as caught:
                log.read(damaged, max_bytes)
            assert caught.value.file == str(path)
            assert caught.value.offset == damaged


@pytest.mark.parametrize("max_bytes", [1, 1_000, 1 << 20])
@pytest.mark.parametrize("byte", range(8))
@pytest.mark.parametrize("number", [3, 17])
def test_a_batch_that_reaches_beyond_the_next_is_not_read(
    directory: Path, number: int, byte: int, max_bytes: int
) -> None:
    path = sorted(directory.glob("*.log"))[1]
    content = bytearray(path.read_bytes())
    before, batch = list(read_batches(memoryview(bytes(content))))[number - 1 :][:2]
    content[batch.position + byte] ^= 0x40
    path.write_bytes(content)
    seen: list[int] = []

    def read_all(log: CheckedLog) -> None:
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            view = log.read(offset, max_bytes)
            seen.extend(each.offset for each in view.records())
            offset = view.next_offset

    with CheckedLog.open(directory) as log, pytest.raises(CorruptBatchError):
        read_all(log)
    assert seen == list(range(len(seen)))
    # Of two batches that contradict each other neither is given.
    assert len(seen) in {before.base_offset, batch.base_offset}


def test_what_follows_damage_can_be_read(directory: Path) -> None:
    path = sorted(directory.glob("*.log"))[1]
    damaged = damage(path, 3)
    with FrozenLog.open(directory) as plain, CheckedLog.open(directory) as log:
        after = plain.read(damaged, 1).next_offset
        assert bytes(log.read(after, 1 << 20).data) == bytes(plain.read(after, 1 << 20).data)


@pytest.mark.parametrize("path", sorted(LEGACY.glob("*.log")), ids=lambda each: each.stem)
def test_logs_in_old_formats_are_read_as_ever(path: Path, tmp_path: Path) -> None:
    place = tmp_path / "orders-0"
    place.mkdir()
    shutil.copy(path, place / f"{0:020}.log")
    with FrozenLog.open(place) as plain, CheckedLog.open(place) as checked:
        assert plain.log_end_offset > 0
        start = plain.log_start_offset
        assert bytes(checked.read(start, 1 << 20).data) == bytes(plain.read(start, 1 << 20).data)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_wrapped_set_that_nobody_can_read_is_given_as_it_is_and_what_follows_it_too(
    tmp_path: Path, magic: int, at: int
) -> None:
    """Its checksum is right: whoever decompresses it is told, and goes on behind it."""

    def wrapper(number: int) -> bytes:
        first = number * 10
        inner = [message(first * (1 - magic) + each, b"v", magic=magic) for each in range(10)]
        content = b"no gzip" if number == at else bytes(cramjam.gzip.compress(b"".join(inner)))
        return message(first + 9, content, magic=magic, attributes=GZIP)

    place = tmp_path / "t-0"
    place.mkdir()
    content = b"".join(map(wrapper, range(4)))
    (place / f"{0:020d}.log").write_bytes(content)
    with CheckedLog.open(place) as log:
        assert bytes(log.read(0, 1 << 20).data) == content
        assert log.read(0, 1 << 20).next_offset == log.log_end_offset == 40
        for offset in range(40):
            assert log.read(offset, 1).next_offset == offset // 10 * 10 + 10
        behind = [record.offset for record in log.read(at * 10 + 10, 1 << 20).records()] if at < 3 else []
        assert behind == list(range(at * 10 + 10, 40))
        with pytest.raises(DecompressionError):
            list(log.read(at * 10, 1 << 20).records())
