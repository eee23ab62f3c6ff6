"""What verify says of the files in a partition's directory."""

import json
import struct
from pathlib import Path

import pytest

from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.meta_properties import MetaProperties
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Finding, Severity, verify_partition
from tests.logstore.batches import CONTROL, batch, record, simple_batch
from tests.logstore.verify.logs import write_log

SNAPSHOT = f"{7:020d}-{2:010d}.checkpoint"
QUORUM_STATE = {"leaderId": 3, "leaderEpoch": 5, "votedId": -1, "data_version": 1}


def found(directory: Path, name: str, content: bytes, *, clean: bool = False) -> list[tuple[str, Severity, str | None]]:
    """What is said of a partition with nothing in it but one file."""
    return [(each.kind, each.severity, each.file) for each in findings(directory, name, content, clean=clean)]


def findings(directory: Path, name: str, content: bytes, *, clean: bool = False) -> list[Finding]:
    partition = directory / "__cluster_metadata-0"
    partition.mkdir()
    (partition / name).write_bytes(content)
    if clean:
        (directory / CLEAN_SHUTDOWN_NAME).touch()
    return list(verify_partition(PartitionDirectory.open(partition)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("notes.txt", "unknown-file"),
        ("leader-epoch-checkpoint.tmp", "left-over-tmp"),
        (f"{SNAPSHOT}.part", "left-over-tmp"),
        (f"{0:020d}.log.deleted", "left-over-deleted"),
        (f"{0:020d}.log.cleaned", "left-over-cleaned"),
        (f"{0:020d}.log.begun", "left-over-begun"),
        (f"{0:020d}.index", "index-without-log"),
        (f"{0:020d}.txnindex", "index-without-log"),
    ],
)
def test_what_is_left_over_is_worth_knowing(name: str, kind: str, tmp_path: Path) -> None:
    assert found(tmp_path, name, b"x") == [(kind, Severity.INFO, name)]


@pytest.mark.parametrize("name", [f"{0:020d}.log", f"{0:020d}.timeindex", "leader-epoch-checkpoint", "quorum-state"])
def test_a_directory_where_a_file_belongs_is_an_error_there(name: str, tmp_path: Path) -> None:
    partition = tmp_path / "t-0"
    (partition / name).mkdir(parents=True)
    (partition / "lost+found").mkdir()
    (partition / "partition.metadata").symlink_to(partition / "nothing")
    assert {
        (each.kind, each.severity, each.file, each.message.partition(" stands")[0])
        for each in verify_partition(PartitionDirectory.open(partition))
    } == {
        ("not-a-file", Severity.ERROR, name, "a directory"),
        (
            "not-a-file",
            Severity.ERROR,
            "partition.metadata",
            "a pipe, a socket, a device or a broken symbolic link",
        ),
        ("unknown-file", Severity.INFO, "lost+found", "not a file that Kafka writes in a partition directory"),
    }


def test_a_swap_file_waits_for_the_next_start(tmp_path: Path) -> None:
    name = f"{0:020d}.log.swap"
    assert found(tmp_path, name, b"x") == [("left-over-swap", Severity.WARNING, name)]


def test_after_a_clean_stop_no_cleaner_is_at_work(tmp_path: Path) -> None:
    name = f"{0:020d}.log.cleaned"
    assert found(tmp_path, name, b"", clean=True) == [("left-over-cleaned", Severity.WARNING, name)]


@pytest.mark.parametrize("content", [b"", b"version: 0\n", b"\xff"])
def test_partition_metadata_can_be_parsed(content: bytes, tmp_path: Path) -> None:
    expected = [("partition-metadata-unparsable", Severity.ERROR, "partition.metadata")]
    assert found(tmp_path, "partition.metadata", content) == expected


def test_quorum_state_can_be_parsed(tmp_path: Path) -> None:
    (tmp_path / "sound").mkdir()
    assert found(tmp_path / "sound", "quorum-state", json.dumps(QUORUM_STATE).encode()) == []
    expected = [("quorum-state-unparsable", Severity.ERROR, "quorum-state")]
    assert found(tmp_path, "quorum-state", b"{") == expected


@pytest.mark.parametrize(
    "content",
    [
        QUORUM_STATE | {"leaderId": -2},
        QUORUM_STATE | {"leaderEpoch": -1},
        QUORUM_STATE | {"votedId": -2},
        QUORUM_STATE | {"votedDirectoryId": "short"},
        QUORUM_STATE | {"data_version": 2},
        QUORUM_STATE | {"data_version": 0, "currentVoters": [{"voterId": 3}, {"voterId": 3}]},
        QUORUM_STATE | {"data_version": 0, "currentVoters": [{"voterId": 1}]},
    ],
)
def test_what_a_quorum_state_may_not_say(content: dict[str, object], tmp_path: Path) -> None:
    expected = [("quorum-state-unparsable", Severity.ERROR, "quorum-state")]
    assert found(tmp_path, "quorum-state", json.dumps(content).encode()) == expected


def snapshot_batches(*, epoch: int, version: int = 0, footer_at: int = 2) -> tuple[bytes, bytes, bytes]:
    """What begins a snapshot, a batch of it, and what ends it."""

    def control(offset: int, kind: int, value: bytes) -> bytes:
        key = struct.pack(">hh", 0, kind)
        return batch(base_offset=offset, leader_epoch=epoch, attributes=CONTROL, records=[record(key=key, value=value)])

    header, footer = struct.pack(">hqB", version, 1_000, 0), struct.pack(">hB", version, 0)
    return control(0, 3, header), simple_batch(1, leader_epoch=epoch), control(footer_at, 4, footer)


def test_metadata_snapshots_are_read_to_their_end(tmp_path: Path) -> None:
    first, second, last = snapshot_batches(epoch=2)
    contents = {
        "sound": (first + second + last, []),
        "empty": (b"", [("metadata-snapshot-corrupt", 0)]),
        "no header": (second + last, [("metadata-snapshot-corrupt", 0)]),
        "no footer": (first + second, [("metadata-snapshot-corrupt", len(first + second))]),
        "going on": (first + last + second, [("metadata-snapshot-corrupt", len(first))]),
        "after its end": (
            first + snapshot_batches(epoch=2, footer_at=1)[2] + second,
            [("metadata-snapshot-corrupt", len(first + last))],
        ),
        "of another epoch": (b"".join(snapshot_batches(epoch=3)), [("metadata-snapshot-corrupt", 0)]),
        "another version": (
            snapshot_batches(epoch=2, version=1)[0] + second + last,
            [("metadata-snapshot-corrupt", 0)],
        ),
        "torn": (first + second[:-1], [("metadata-snapshot-corrupt", len(first))]),
        "corrupt": (first[:-1] + b"\xff" + second, [("metadata-snapshot-corrupt", 0)]),
        "junk": (first + b"\x55" * 70, [("metadata-snapshot-corrupt", len(first))]),
    }
    for label, (content, expected) in contents.items():
        (tmp_path / label).mkdir()
        said = findings(tmp_path / label, SNAPSHOT, content)
        no_log = ("metadata-snapshot-beyond-log-end", None)
        assert [(each.kind, each.position) for each in said] == [*expected, no_log], label


def test_links_are_followed_inside_only_and_a_name_that_begins_alike_is_outside(tmp_path: Path) -> None:
    outside = tmp_path / "t-00"
    partition = tmp_path / "t-0"
    outside.mkdir()
    partition.mkdir()
    (outside / "secret").write_bytes(b"")
    (partition / f"{0:020d}.log").symlink_to(outside / "secret")
    (partition / "partition.metadata").symlink_to(partition / "own")
    (partition / "own").write_bytes(b"")
    said = [(each.kind, each.file) for each in verify_partition(PartitionDirectory.open(partition))]
    assert ("link-leaves-root", f"{0:020d}.log") in said
    assert ("partition-metadata-unparsable", "partition.metadata") in said


def test_a_copy_on_the_move_is_not_judged_by_the_live_log_s_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 10\n")
    for name in ("t-0", "t-0.0123456789abcdef-future"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{0:020d}.log").write_bytes(b"")
    kinds = {
        path.name: [each.kind for each in verify_partition(PartitionDirectory.open(path))]
        for path in tmp_path.iterdir()
        if path.is_dir()
    }
    assert kinds == {"t-0": ["recovery-point-beyond-log-end"], "t-0.0123456789abcdef-future": []}


class TestALogWithoutItsTopicsId:
    """A broker with KRaft takes it for stray."""

    @pytest.mark.parametrize(
        ("version", "expected"), [(1, [("topic-id-missing", Severity.ERROR, "partition.metadata")]), (0, [])]
    )
    def test_it_is_damaged_where_brokers_need_one(
        self, tmp_path: Path, version: int, expected: list[tuple[str, Severity, str | None]]
    ) -> None:
        MetaProperties(version, "cluster", 1, None).write(tmp_path / "meta.properties")
        (tmp_path / "__cluster_metadata-0").mkdir()
        assert self.found(write_log(tmp_path, {0: [simple_batch()]})) == expected

    def test_another_log_that_has_one_shows_that_brokers_need_it(self, tmp_path: Path) -> None:
        MetaProperties(1, "cluster", 1, None).write(tmp_path / "meta.properties")
        log = write_log(tmp_path, {0: [simple_batch()]})
        assert self.found(log) == [("topic-id-missing", Severity.INFO, None)]
        other = write_log(tmp_path, {0: []}, name="u-0")
        (other / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAQACAAAAAAAAAAA")
        assert self.found(log) == [("topic-id-missing", Severity.ERROR, "partition.metadata")]

    def test_a_log_without_records_was_made_just_now(self, tmp_path: Path) -> None:
        MetaProperties(1, "cluster", 1, None).write(tmp_path / "meta.properties")
        assert self.found(write_log(tmp_path, {0: []})) == []

    def test_the_metadata_of_the_cluster_is_nobodys_stray(self, tmp_path: Path) -> None:
        MetaProperties(1, "cluster", 1, None).write(tmp_path / "meta.properties")
        assert self.found(write_log(tmp_path, {0: [simple_batch()]}, name="__cluster_metadata-0")) == []

    @staticmethod
    def found(directory: Path) -> list[tuple[str, Severity, str | None]]:
        findings = verify_partition(PartitionDirectory.open(directory))
        return [(each.kind, each.severity, each.file) for each in findings if each.kind == "topic-id-missing"]
