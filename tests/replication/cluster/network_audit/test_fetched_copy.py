"""Copies that are fetched are judged as the same copies on disks are."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace

import pytest

from logstore import Log, LogConfig, Record
from logstore.offline.partition_directory import PartitionDirectory
from replication.base.errors import CopyUnreadableError
from replication.cluster.network_audit import broker_reader, fetched_copy, fetched_log
from replication.cluster.network_audit.fetched_copy import Fetched, ReplicaFetch
from replication.cluster.network_audit.fetched_log import FetchedReplica
from replication.cluster.network_audit.replica_bounds import Bounds
from replication.copies.audit.examination.examination import examine
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import PartitionVerdict
from tests.replication.cluster.network_audit.answering_replica import T0, AnsweringReplica, reader_of
from tests.replication.cluster.network_audit.changed_files import cut_out
from tests.replication.copies.audit.logs import Copy, Written, change_record, examined, write_copies

BASE = tuple(Written(epoch, 5) for epoch in (0, 0, 1, 1, 1, 2, 2, 4, 4, 4))
FORK = (*BASE[:7], Written(5, 5, "x"), Written(5, 5, "x"), Written(5, 5, "x"))
END = 50


def fetch(partition: PartitionDirectory, name: str, *, is_compacted: bool | None = False) -> Fetched:
    replica = AnsweringReplica.of(partition, END)
    replica.high_watermark = min(END, examine(partition, name).summary.readable_end_offset)
    bounds = Bounds(replica.start, replica.high_watermark)
    told = FetchedReplica(name, T0, bounds, is_compacted=is_compacted)
    return ReplicaFetch(reader_of(replica, name), told, 7, None, scratch_of(partition)).fetch()


def scratch_of(partition: PartitionDirectory) -> Path:
    """Return a new directory beside a partition's."""
    return Path(mkdtemp(dir=partition.path.parent))


def over_network(partitions: dict[str, PartitionDirectory], *, is_compacted: bool | None = False) -> PartitionVerdict:
    return judge([fetch(each, name, is_compacted=is_compacted).copy for name, each in partitions.items()])


DAMAGES: dict[str, tuple[Sequence[Copy], Callable[[dict[str, PartitionDirectory]], object], str]] = {
    "same": ((Copy(BASE), Copy(BASE)), lambda _: None, "identical"),
    "other segments": ((Copy(BASE), Copy(BASE, segment_bytes=400)), lambda _: None, "identical"),
    "later start": ((Copy(BASE), Copy(BASE, start=4)), lambda _: None, "retention"),
    "lagging": ((Copy(BASE), Copy(BASE[:6])), lambda _: None, "lagging"),
    "forked": ((Copy(BASE), Copy(FORK)), lambda _: None, "forked"),
    "flipped": ((Copy(BASE), Copy(BASE)), lambda found: change_record(found["broker-2"], 20), "silent-divergence"),
    "missing": ((Copy(BASE), Copy(BASE)), lambda found: cut_out(found["broker-2"], 20, 25), "missing"),
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("segment_bytes", [1, 700, 8 << 20])
def test_verdicts_are_those_of_the_files(
    tmp_path: Path, name: str, segment_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched_log, "SEGMENT_BYTES", segment_bytes)
    monkeypatch.setattr(broker_reader, "MAX_BYTES", 150)
    copies, damage, verdict = DAMAGES[name]
    partitions = write_copies(tmp_path, copies)
    damage(partitions)
    by_network, by_files = over_network(partitions), judge(examined(partitions))
    assert verdict in by_network.as_json()["verdicts"]
    assert set(by_network.verdicts) <= set(by_files.verdicts)  # damage of other files is not seen
    assert by_network.forks == by_files.forks
    assert [(pair.truncate_to, pair.records_lost, pair.first_difference) for pair in by_network.pairs] == [
        (pair.truncate_to, pair.records_lost, pair.first_difference) for pair in by_files.pairs
    ]


@pytest.mark.parametrize("most_kept", [0, 300, 1 << 20])
def test_what_is_kept_and_what_is_fetched_again_are_the_same(
    tmp_path: Path, most_kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched_log, "SEGMENT_BYTES", 200)
    monkeypatch.setattr(broker_reader, "MAX_BYTES", 150)
    monkeypatch.setattr(fetched_copy, "MOST_KEPT", most_kept)
    partition = Copy(BASE).write(tmp_path)
    copy = fetch(partition, "broker-1", is_compacted=True).copy
    assert len(copy.summary.segments) > 3
    data = b"".join(segment.log_path.read_bytes() for segment in partition.segments)
    for _ in range(2):
        with copy.logs([segment.file for segment in copy.summary.segments]) as directory:
            assert b"".join((directory / each.file).read_bytes() for each in copy.summary.segments) == data
    assert sum(each.stat().st_size for each in directory.iterdir()) < most_kept + 300


def test_what_would_not_fit_on_the_disk_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = fetch(Copy(BASE).write(tmp_path), "broker-1").copy
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    names = [segment.file for segment in copy.summary.segments]
    with (
        pytest.raises(CopyUnreadableError, match="10 are free: name a directory with more in TMPDIR"),
        copy.logs(names),
    ):
        pass


def test_digests_are_those_of_the_files(tmp_path: Path) -> None:
    partition = Copy(BASE).write(tmp_path)
    assert fetch(partition, "broker-1").copy.digests == examine(partition, "broker-1").digests


def test_a_batch_whose_checksum_is_wrong_is_a_finding_without_a_file(tmp_path: Path) -> None:
    partition = Copy(BASE).write(tmp_path)
    change_record(partition, 20)
    for segment in partition.segments:
        with segment.open_log() as log:
            found = [each for each in log.batches() if each.base_offset == 20]
        for batch in found:
            data = bytearray(segment.log_path.read_bytes())
            data[batch.position + batch.size - 2] ^= 1
            segment.log_path.write_bytes(data)
    fetched = fetch(partition, "broker-1")
    (finding,) = fetched.findings
    assert (finding.kind, finding.file, finding.position, finding.offset) == ("corrupt-batch", None, None, 20)
    assert fetched.copy.summary.errors == 1
    assert [tuple(each) for each in fetched.copy.summary.corrupt] == [(20, 24)]


def test_what_each_key_says_last_is_missed_in_compacted_topics_too(tmp_path: Path) -> None:
    partitions = write_copies(tmp_path, (Copy(BASE), Copy(BASE)))
    cut_out(partitions["broker-2"], 20, 25)
    for is_compacted in (True, None):
        assert "missing" in over_network(partitions, is_compacted=is_compacted).as_json()["verdicts"]


def test_what_a_key_says_again_later_may_have_been_cleaned_away_unless_the_topic_is_not_compacted(
    tmp_path: Path,
) -> None:
    partitions = {}
    for name in ("broker-1", "broker-2"):
        (tmp_path / name).mkdir()
        with Log.open(tmp_path / name / "t-0", LogConfig(retention_ms=-1)) as log:
            for number in range(10):
                log.append([Record(0, 1_000, b"key-%d" % (number % 3), b"value")], leader_epoch=0)
        partitions[name] = PartitionDirectory.open(tmp_path / name / "t-0")
    cut_out(partitions["broker-2"], 2, 4)
    for is_compacted in (True, None):
        assert over_network(partitions, is_compacted=is_compacted).as_json()["verdicts"] == ["compaction"]
    assert over_network(partitions, is_compacted=False).as_json()["verdicts"] == ["missing"]


def test_a_replica_that_changes_before_it_is_read_again_cannot_be_judged(tmp_path: Path) -> None:
    partitions = write_copies(tmp_path, (Copy(BASE), Copy(BASE)))
    change_record(partitions["broker-2"], 20)
    replica = AnsweringReplica.of(partitions["broker-2"], END)
    told = FetchedReplica("broker-2", T0, Bounds(0, END), is_compacted=False)
    changing = ReplicaFetch(reader_of(replica, "broker-2"), told, 7, None, scratch_of(partitions["broker-2"])).fetch()
    cut_out(partitions["broker-2"], 45, 45)
    replica.data = AnsweringReplica.of(partitions["broker-2"], END).data
    verdict = judge([fetch(partitions["broker-1"], "broker-1").copy, changing.copy])
    assert verdict.unread == ("broker-2",)
    assert verdict.as_json()["verdict"] == "unknown"
