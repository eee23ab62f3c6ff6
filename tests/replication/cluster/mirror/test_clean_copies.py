"""`verify` finds nothing in a copy that is being written, nor in one whose mirror was killed, as in a broker's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import BatchTemplate, Log, LogConfig, Record, TopicPartition
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import Finding, verify
from replication.cluster.mirror.mirror_directory import open_mirror_directory
from tests.replication.cli.command import epochlog
from tests.replication.cluster.mirror.mirror_process import MirrorProcess, wait_until
from tests.replication.cluster.mirror.wire_leader import WireLeader

PLAIN, TRANSACTIONS = TopicPartition("orders", 0), TopicPartition("orders", 1)
LIVES = 3


def write(log: Log) -> None:
    """Batches large enough for index entries."""
    for _ in range(20):
        log.append([Record.of(b"value" * 100)] * 3, leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)


def write_transactions(log: Log) -> None:
    """One that is committed, one that is aborted, and one that is open."""
    for producer_id, commit in ((1, True), (2, False), (3, None)):
        sequence = log.log_end_offset
        template = BatchTemplate(
            producer_id=producer_id + 10 * sequence, producer_epoch=0, base_sequence=0, is_transactional=True
        )
        log.append([Record.of(b"value")] * 3, leader_epoch=0, template=template)
        if commit is not None:
            log.append_end_transaction(template.producer_id, 0, commit=commit, leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)


def findings(root: Path) -> list[Finding]:
    return list(verify(open_offline(root), records=True))


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[WireLeader]:
    with (
        WireLeader() as leader,
        Log.open(tmp_path / str(PLAIN), replicated=True) as plain,
        Log.open(tmp_path / str(TRANSACTIONS), replicated=True) as txn,
    ):
        leader.lead(PLAIN, plain, 0)
        leader.lead(TRANSACTIONS, txn, 0)
        yield leader


def test_a_mirror_verifies_clean_while_it_runs_and_after_it_was_killed(leader: WireLeader, tmp_path: Path) -> None:
    process = MirrorProcess(leader.bootstrap, ("orders",), tmp_path / "copy")
    logs = {partition: led.log for partition, led in leader.partitions.items()}

    def is_copied() -> bool:
        ours = [tmp_path / "copy" / str(each) for each in logs]
        return all(
            sum(path.stat().st_size for path in directory.glob("*.log")) == log.size
            for directory, log in zip(ours, logs.values(), strict=True)
        )

    for _ in range(LIVES):
        with process:
            with leader.held:
                write(logs[PLAIN])
                write_transactions(logs[TRANSACTIONS])
            wait_until(is_copied, process.said)
            assert findings(tmp_path / "copy") == []
            process.kill()
        assert findings(tmp_path / "copy") == []
    told = epochlog("verify", tmp_path / "copy")
    assert told.status == 0
    assert "no damage" in told.out


def test_each_last_segment_of_a_copy_has_its_index_files(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=10_000, retention_ms=-1)
    with open_mirror_directory(tmp_path / "copy", "wire", config=config) as directory:
        log = directory.create(PLAIN)
        for change in (
            lambda: write(log),
            log.roll,
            lambda: write(log),
            lambda: log.truncate_to(30),
            lambda: write(log),
            lambda: log.truncate_fully_and_start_at(500),
            lambda: write(log),
        ):
            change()
            log.update_high_watermark(log.log_end_offset)
            last = log.segments[-1].path
            assert last.with_suffix(".index").exists()
            assert last.with_suffix(".timeindex").exists()
            assert "index-missing" not in [each.kind for each in findings(tmp_path / "copy")]
