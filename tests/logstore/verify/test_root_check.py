"""What verify says of a root's own files, and of what its checkpoints claim."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify import Finding, Severity, verify_root
from tests.logstore.batches import simple_batch
from tests.logstore.verify.test_directory_check import snapshot_batches

CHECKPOINTS = {
    "replication-offset-checkpoint": "high-watermark-beyond-log-end",
    "recovery-point-offset-checkpoint": "recovery-point-beyond-log-end",
    "log-start-offset-checkpoint": "log-start-beyond-log-end",
    "cleaner-offset-checkpoint": "cleaner-beyond-log-end",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with one partition whose log ends at 5."""
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(simple_batch(0, [b"v"] * 5))
    (tmp_path / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    return tmp_path


def found(root: Path) -> list[Finding]:
    # The log has neither indexes nor epochs beside it.
    ours = ("index-missing", "epoch-checkpoint-missing")
    return [each for each in verify_root(OfflineLogDirectory.open(root)) if each.kind not in ours]


def kinds(root: Path) -> list[tuple[str, Severity, str | None]]:
    return [(each.kind, each.severity, each.file) for each in found(root)]


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_no_checkpoint_may_claim_more_than_the_log_has(name: str, root: Path) -> None:
    (root / name).write_text("0\n1\nt 0 5\n")
    assert kinds(root) == []
    (root / name).write_text("0\n1\nt 0 6\n")
    findings = found(root)
    assert [(each.kind, each.file, each.offset) for each in findings] == [(CHECKPOINTS[name], name, 6)]
    assert findings[0].severity is Severity.ERROR


@pytest.mark.parametrize("name", sorted(CHECKPOINTS.keys() - {"log-start-offset-checkpoint"}))
def test_a_partition_without_segments_has_lost_what_checkpoints_claim(name: str, root: Path) -> None:
    (root / "t-0" / f"{0:020d}.log").unlink()
    (root / name).write_text("0\n1\nt 0 0\n")
    assert kinds(root) == []
    (root / name).write_text("0\n1\nt 0 5\n")
    assert kinds(root) == [(CHECKPOINTS[name], Severity.ERROR, name)]
    # All that was committed had been deleted already, and a broker goes on from there.
    (root / "log-start-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    assert kinds(root) == []
    (root / "log-start-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    assert kinds(root) == [(CHECKPOINTS[name], Severity.ERROR, name)]


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_that_cannot_be_parsed_is_reported(name: str, root: Path) -> None:
    (root / name).write_text("0\n2\nt 0 5\n")
    assert kinds(root) == [("checkpoint-unparsable", Severity.ERROR, name)]


def test_a_partition_that_only_checkpoints_know_is_missing(root: Path) -> None:
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (root / name).write_text("0\n1\nu 3 5\n")
    (missing,) = found(root)
    assert (missing.kind, missing.topic, missing.partition) == ("partition-missing", "u", 3)
    assert "recovery-point-offset-checkpoint" in missing.message
    assert "replication-offset-checkpoint" in missing.message


def test_meta_properties_can_be_parsed(root: Path) -> None:
    (root / "meta.properties").write_text("version=nonsense\n")
    assert kinds(root) == [("meta-properties-unparsable", Severity.ERROR, "meta.properties")]


@pytest.mark.parametrize(
    ("text", "what"),
    [("", "the file is empty"), ("#\n", "no broker.id"), ("version=0\ncluster.id=c\n", "no broker.id")],
)
def test_meta_properties_say_whose_the_root_is(text: str, what: str, root: Path) -> None:
    (root / "meta.properties").write_text(text)
    assert kinds(root) == [("meta-properties-unparsable", Severity.ERROR, "meta.properties")]
    [said] = [each.message for each in found(root)]
    assert what in said
    assert "it has no node.id" in said


SOUND = "version=1\nnode.id=3\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\ndirectory.id=OqDBOaBNZ_K0bWPGKF_qmg\n"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("node.id=3", "node.id=-3", "unparsable"),
        ("node.id=3", "node.id=4294967299", "unparsable"),
        ("node.id=3", "broker.id=3", "unparsable"),
        ("MkU3OEVBNTcwNTJENDM2Qg", "", "unparsable"),
        ("MkU3OEVBNTcwNTJENDM2Qg", "\0\1", "unparsable"),
        ("OqDBOaBNZ_K0bWPGKF_qmg", "OqDBOaBNZ_K0bWPGKF_qm", "unparsable"),
        ("OqDBOaBNZ_K0bWPGKF_qmg", "AAAAAAAAAAAAAAAAAAAAAQ", "unparsable"),
        ("version=1", "version=2", "unparsable"),
        ("node.id=3", "node.id=2\nnode.id=3", "doubtful"),
        ("version=1", "version=1\n\xff\xfe garbage", "doubtful"),
        ("version=1", "version=1\nadded.by=somebody", None),
    ],
)
def test_what_meta_properties_may_not_say(old: str, new: str, kind: str | None, root: Path) -> None:
    (root / "meta.properties").write_text(SOUND)
    assert kinds(root) == []
    assert old in SOUND
    (root / "meta.properties").write_text(SOUND.replace(old, new))
    assert [each.kind for each in found(root)] == ([f"meta-properties-{kind}"] if kind else [])


def test_a_bootstrap_checkpoint_is_a_snapshot(root: Path) -> None:
    path = root / "bootstrap.checkpoint"
    path.write_bytes(b"".join(snapshot_batches(epoch=0)))
    assert kinds(root) == []
    path.write_bytes(b"garbage")
    assert kinds(root) == [("metadata-snapshot-corrupt", Severity.ERROR, path.name)]


@pytest.mark.parametrize(
    "content",
    [
        '{"version":0,"brokerEpoch":-2}',
        '{"version":false,"brokerEpoch":1}',
        '{"version":0,"brokerEpoch":1,"more":2}',
        '{"version":0,"brokerEpoch":1,"brokerEpoch":2}',
        '{"version":0,"brokerEpoch":1}' + " " * 4096 + "x",
        '{"version":0,"brokerEpoch":9223372036854775808}',
    ],
)
def test_what_a_clean_shutdown_file_may_not_say(content: str, root: Path) -> None:
    (root / ".kafka_cleanshutdown").write_text(content)
    assert kinds(root) == [("clean-shutdown-unparsable", Severity.WARNING, ".kafka_cleanshutdown")]


@pytest.mark.parametrize(
    ("content", "expected"), [("", []), ('{"version":0,"brokerEpoch":7}', []), ("{", ["clean-shutdown-unparsable"])]
)
def test_the_clean_shutdown_file_can_be_parsed(content: str, expected: list[str], root: Path) -> None:
    (root / ".kafka_cleanshutdown").write_text(content)
    assert kinds(root) == [(kind, Severity.WARNING, ".kafka_cleanshutdown") for kind in expected]


def test_the_recovery_point_tells_whether_a_clean_stop_is_to_be_believed(root: Path) -> None:
    (root / ".kafka_cleanshutdown").touch()
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    assert kinds(root) == [("clean-shutdown-doubtful", Severity.WARNING, ".kafka_cleanshutdown")]
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    assert kinds(root) == []


def test_what_does_not_belong_in_a_root_is_worth_knowing(root: Path) -> None:
    (root / "notes.txt").touch()
    (root / "recovery-point-offset-checkpoint.tmp").touch()
    (root / "lost+found").mkdir()
    (root / "remote-log-index-cache").mkdir()
    assert kinds(root) == [
        ("unknown-file", Severity.INFO, "notes.txt"),
        ("left-over-tmp", Severity.INFO, "recovery-point-offset-checkpoint.tmp"),
        ("unknown-directory", Severity.INFO, "lost+found"),
    ]


OF_A_ROOT = (*CHECKPOINTS, ".kafka_cleanshutdown", "meta.properties", "bootstrap.checkpoint")


@pytest.mark.parametrize("name", OF_A_ROOT)
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.parent / "nothing")])
def test_what_is_no_file_where_one_belongs_is_an_error(name: str, make: Callable[[Path], None], root: Path) -> None:
    make(root / name)
    assert kinds(root) == [("not-a-file", Severity.ERROR, name)]


@pytest.mark.parametrize("name", sorted(CHECKPOINTS))
def test_a_checkpoint_that_is_a_link_within_the_root_is_not_read_and_said_to_be_none(name: str, root: Path) -> None:
    (root / "replica-offsets").write_text("0\n1\nt 0 99\n")
    (root / name).symlink_to(root / "replica-offsets")
    assert ("not-a-file", Severity.ERROR, name) in kinds(root)
    assert OfflineLogDirectory.open(root).open_partition("t-0").checkpoints.unread == {name}


def test_directories_with_a_mark_are_named_and_not_opened_as_live(root: Path) -> None:
    for mark in ("delete", "future", "stray"):
        (root / f"u-1.0123456789abcdef-{mark}").mkdir()
        (root / f"u-1.0123456789abcdef-{mark}" / f"{0:020d}.log").write_bytes(b"junk" * 50)
    findings = found(root)
    assert [(each.kind, each.severity, each.topic, each.partition) for each in findings] == [
        ("left-over-directory", Severity.INFO, "u", 1)
    ] * 3


def test_checkpoints_that_are_links_are_not_followed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "checkpoint"
    outside.write_text("0\n1\nt 0 99\n")
    (root / "replication-offset-checkpoint").symlink_to(outside)
    assert kinds(root) == [("link-leaves-root", Severity.ERROR, "replication-offset-checkpoint")]
