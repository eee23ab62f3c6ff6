"""The library's own small files beside Kafka's are known, and none of them is damaged unnoticed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.directory.log_directory import LogDirectory
from logstore.errors import DamagedLogError
from logstore.files.broker.kept_claims import KEPT_CLAIMS_NAME, Claims, keep_claims
from logstore.files.broker.lost_tail import LOST_TAIL_MARK, LostTail
from logstore.files.only_copy.offset_gaps import OFFSET_GAPS_NAME, Hole, OffsetGaps
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME
from logstore.log.log import Log
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.topic_partition import TopicPartition
from logstore.verify import Finding, Severity, verify
from logstore.verify.finding import Reporter
from logstore.verify.own_files_check import check_kept_claims, check_own_files

ORDERS = TopicPartition("orders", 0)
GAPS = OffsetGaps().with_skipped(1, 2).with_hole(Hole(0, 1))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A log of ten records, closed in order, with all of these files beside it."""
    root = tmp_path / "kafka-logs"
    with LogDirectory.open(root, replicated=True) as directory:
        directory.create(ORDERS).append([b"paid"] * 10, leader_epoch=0)
    LostTail(end=10, former_end=12, leader_epoch=0, was_recovering=False).keep(root / "orders-0")
    keep_claims(root, {ORDERS: Claims(recovery_point=10, high_watermark=9)})
    OffsetGaps().with_skipped(20, 30).write(root / "orders-0")
    return root


def found(root: Path) -> list[Finding]:
    return list(verify(OfflineLogDirectory.open(root)))


def of_own_files(root: Path) -> list[Finding]:
    partition = OfflineLogDirectory.open(root).open_partition("orders-0")
    return [*check_own_files(partition, Reporter(ORDERS)), *check_kept_claims(root, Reporter(None))]


def test_they_are_known_and_nothing_is_wrong_with_them(root: Path) -> None:
    (told,) = found(root)
    assert (told.kind, told.severity, told.file) == ("lost-tail", Severity.INFO, LOST_TAIL_MARK)


@pytest.mark.parametrize("name", [KEPT_CLAIMS_NAME, f"orders-0/{LOST_TAIL_MARK}", f"orders-0/{OFFSET_GAPS_NAME}"])
def test_every_flipped_bit_is_found(root: Path, name: str) -> None:
    path = root / name
    content = path.read_bytes()
    for bit in range(len(content) * 8):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        errors = [(each.kind, each.file) for each in of_own_files(root) if each.severity is Severity.ERROR]
        if not errors and name.endswith(OFFSET_GAPS_NAME):  # a blank of another kind at its end
            assert OffsetGaps.read(root / "orders-0").skipped == (Hole(20, 30),)
        else:
            assert errors == [("own-file-unparsable", path.name)], bytes(flipped)


def test_a_log_that_is_short_of_kept_claims_is_told_of(root: Path) -> None:
    keep_claims(root, {ORDERS: Claims(recovery_point=11)})
    (error,) = (each for each in found(root) if each.severity is Severity.ERROR)
    assert (error.kind, error.file, error.offset) == ("short-of-claims", KEPT_CLAIMS_NAME, 10)


Spoil = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    ("spoil", "is_found"),
    [(lambda data: bytes(len(data)), False), (lambda _: b"", False), (lambda data: data.replace(b"\0", b"\1"), True)],
)
def test_promised_offsets_are_zeros_after_a_loss_of_power_and_otherwise_damaged(
    tmp_path: Path, spoil: Spoil, *, is_found: bool
) -> None:
    with Log.open(tmp_path / "queue-0") as log:
        log.append([b"paid"])
    path = tmp_path / "queue-0" / PROMISED_OFFSETS_NAME
    path.write_bytes(spoil(path.read_bytes()))
    kinds = {each.kind for each in found(tmp_path)}
    assert ("own-file-unparsable" in kinds) is is_found


def test_a_damaged_list_of_holes_is_told_of_when_the_log_is_opened(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What it lists is refused as missing, or warned of."""
    path = tmp_path / "queue-0"
    with Log.open(path) as log:
        for _ in range(3):
            log.append([b"paid"])
            log.roll()
    (path / f"{1:020}.log").unlink()
    with Log.open(path, damage="hole") as log:
        assert log.holes == (Hole(1, 2),)
    content = (path / OFFSET_GAPS_NAME).read_text()
    (path / OFFSET_GAPS_NAME).write_text(content.replace("hole 1 2", "hole 1 3"))
    with pytest.raises(DamagedLogError) as refused:
        Log.open(path)
    assert any("its checksum does not match" in note for note in refused.value.__notes__)
    with Log.open(path, damage="hole") as log:
        assert "its checksum does not match" in log.report.damaged_offset_gaps
        assert log.holes == (Hole(1, 2),)
    assert "holes that the log may have are not known" in caplog.text
    with Log.open(path) as log:
        assert not log.report.damaged_offset_gaps
        assert log.holes == (Hole(1, 2),)


def test_a_damaged_list_is_told_of_by_who_only_reads_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from logstore.log.frozen_log import FrozenLog

    path = tmp_path / "queue-0"
    with Log.open(path) as log:
        log.append([b"paid"])
    GAPS.write(path)
    (path / OFFSET_GAPS_NAME).write_text("0\n")
    with FrozenLog.open(path):
        pass
    assert "holes are not known" in caplog.text
