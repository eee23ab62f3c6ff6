"""Header chains find what no checksum covers: changed heads, segments of other logs, old bytes, misplaced ones."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.segment.batch_heads import HEAD_SIZE
from tests.logstore.verify.logs import findings, kinds

CONFIG = LogConfig(segment_bytes=1_000)
NOW = 1_700_000_000_000
MISMATCH, ANOTHER = "header-chain-mismatch", "segment-of-another-log"


def write(directory: Path, values: Sequence[bytes], config: LogConfig = CONFIG) -> Path:
    """A log that was closed in order, with a batch for each value; as Kafka's its checkpoints are elsewhere."""
    with Log.open(directory, config) as log:
        for value in values:
            log.append([Record(0, NOW, None, value)])
    return directory


def values(count: int, letter: str = "a") -> list[bytes]:
    return [f"{letter} {number:06d}".encode() * 10 for number in range(count)]


def logs(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def test_a_log_that_was_left_alone_is_sound(tmp_path: Path) -> None:
    directory = write(tmp_path / "t-0", values(30))
    assert len(logs(directory)) > 3
    assert not findings(directory)


def test_every_flipped_bit_that_no_checksum_covers_is_found(tmp_path: Path) -> None:
    directory = write(tmp_path / "t-0", [b"a", b"b"])
    [log] = logs(directory)
    data = log.read_bytes()
    silent = []
    for start in (0, len(data) // 2):
        for bit in range(HEAD_SIZE * 8):
            altered = bytearray(data)
            altered[start + bit // 8] ^= 1 << bit % 8
            log.write_bytes(altered)
            if not any(finding.severity.is_damage for finding in findings(directory)):
                silent.append((start, bit))
    assert not silent
    # The last batch may be of a later epoch, and end there, for all that its neighbours can tell.
    altered = bytearray(data)
    altered[len(data) // 2 + 15] ^= 1
    log.write_bytes(altered)
    assert MISMATCH in kinds(directory)


def test_a_segment_of_another_log_is_found(tmp_path: Path) -> None:
    ours, theirs = (write(tmp_path / f"{name}-0", values(30, name)) for name in ("a", "b"))
    assert [each.name for each in logs(ours)] == [each.name for each in logs(theirs)]
    for log in logs(ours):
        before = log.read_bytes()
        shutil.copy(theirs / log.name, log)
        assert kinds(ours) == [MISMATCH]
        log.write_bytes(before)
    assert not kinds(ours)


def test_so_it_is_with_its_chain(tmp_path: Path) -> None:
    ours, theirs = (write(tmp_path / f"{name}-0", values(30, name)) for name in ("a", "b"))
    for log in logs(ours):
        names = [log.name, log.with_suffix(".chain").name]
        before = [(ours / name).read_bytes() for name in names]
        for name in names:
            shutil.copy(theirs / name, ours / name)
        assert set(kinds(ours)) == {ANOTHER}
        for name, content in zip(names, before, strict=True):
            (ours / name).write_bytes(content)
    assert not kinds(ours)


def test_so_is_one_of_a_log_that_had_the_same_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    ours, theirs = (write(tmp_path / name / "t-0", values(30, name)) for name in ("a", "b"))
    log = logs(ours)[2]
    for name in (log.name, log.with_suffix(".chain").name):
        shutil.copy(theirs / name, ours / name)
    assert set(kinds(ours)) == {ANOTHER}


def misplaced(data: bytes, size: int) -> bytes:
    """One batch written to the place of another."""
    return data[: 2 * size] + data[size : 2 * size] + data[3 * size :]


def swapped(data: bytes, size: int) -> bytes:
    return data[size : 2 * size] + data[:size] + data[2 * size :]


@pytest.mark.parametrize("damage", [misplaced, swapped])
def test_batches_in_wrong_places_are_found(tmp_path: Path, damage: Callable[[bytes, int], bytes]) -> None:
    directory = write(tmp_path / "t-0", values(5))
    [log] = logs(directory)
    data = log.read_bytes()
    log.write_bytes(damage(data, len(data) // 5))
    assert MISMATCH in kinds(directory)


def test_a_write_that_never_happened_is_found(tmp_path: Path) -> None:
    """The disk has what was there before a truncation, which is as sound, and of the same offsets and epochs."""
    directory = write(tmp_path / "t-0", values(5))
    [log_file] = logs(directory)
    before = log_file.read_bytes()
    with Log.open(directory, CONFIG) as log:
        log.truncate_to(2)
        for value in values(3, "b"):
            log.append([Record(0, NOW, None, value)])
    size = len(before) // 5
    assert not kinds(directory)
    after = log_file.read_bytes()
    assert len(after) == len(before)
    log_file.write_bytes(after[: 3 * size] + before[3 * size : 4 * size] + after[4 * size :])
    [finding] = [finding for finding in findings(directory) if finding.kind == MISMATCH]
    assert (finding.position, finding.offset, finding.file) == (0, 0, log_file.name)


def test_where_it_lies_is_said_by_the_block(tmp_path: Path) -> None:
    ours, theirs = (
        write(tmp_path / f"{name}-0", [f"{name} {number:05d}".encode() * 2_000 for number in range(200)], LogConfig())
        for name in ("a", "b")
    )
    [log], [other] = logs(ours), logs(theirs)
    data = bytearray(log.read_bytes())
    size = len(data) // 200
    assert size * 200 == len(data) == other.stat().st_size
    data[150 * size : 151 * size] = other.read_bytes()[150 * size : 151 * size]
    log.write_bytes(data)
    [finding] = findings(ours)
    assert finding.kind == MISMATCH
    assert finding.position is not None
    assert 0 <= 150 * size - finding.position < 1_070_000


def test_a_chain_that_is_not_whole_says_nothing_wrong(tmp_path: Path) -> None:
    directory = write(tmp_path / "t-0", values(30))
    chain = logs(directory)[0].with_suffix(".chain")
    data = chain.read_bytes()
    for content in (b"", data[:-1], data[:41], data[:40] + bytes(len(data) - 40), bytes(len(data))):
        chain.write_bytes(content)
        assert not kinds(directory)
    chain.unlink()
    assert not kinds(directory)


def test_what_other_brokers_truncated_and_wrote_since_is_told_apart(tmp_path: Path) -> None:
    directory = write(tmp_path / "t-0", values(5))
    [log_file] = logs(directory)
    chain = log_file.with_suffix(".chain")
    before = chain.read_bytes()
    with Log.open(directory, CONFIG) as log:
        log.truncate_to(2)
        for value in values(3, "b"):
            log.append([Record(0, NOW, None, value)], leader_epoch=7)
    chain.write_bytes(before)
    assert kinds(directory) == ["header-chain-outdated"]
