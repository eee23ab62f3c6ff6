"""No command says that nothing is lost, or that all is well, of what is damaged or was not read."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from logstore import LogConfig, LogDirectory, Record, TopicPartition
from logstore.offline.log_file import LogFile
from replication.audit import audit_locally
from replication.cli.commands.audit import _tell, exit_status
from replication.copies.audit.report import render
from tests.data.replicas import LABELS, damage_kinds, damaged, replicas
from tests.replication.cli.command import epochlog

REASSURING = (
    "nothing is lost",
    "nothing lost",
    "no record lost",
    "no records lost",
    "none lost",
    "any replica may lead",
    "All copies agree, and",
    "no damage was found",
)
HARMLESS = {
    "leftover_deleted",
    "leftover_swap",
    "legit_compaction_differs",
    "legit_epoch_entry_at_leo",
    "legit_retention_differs",
    "missing_index",
    "timeindex_zero_padded",
    "unknown_file",
    "zero_tail",
}
"""Kinds that are no damage, or that Kafka repairs by itself: reassurance is true there."""


def places(expected: Mapping[str, Any]) -> set[str]:
    """The partitions that are damaged; none where it is a root's file."""
    named = {expected.get("also_partition")}
    if expected["topic"] is not None:
        named.add(f"{expected['topic']}-{expected['partition']}")
    return {name for name in named if name}


def reassured(text: str) -> str:
    """The lines that reassure."""
    return "\n".join(line for line in text.splitlines() if any(words in line for words in REASSURING))


def document_of(root: Path) -> dict[str, Any]:
    """What `audit --json` prints."""
    brokers = sorted(str(each) for each in root.iterdir() if each.is_dir())
    return audit_locally(brokers, workers=0).document


@pytest.mark.parametrize("kind", damage_kinds())
def test_advise_never_reassures_of_damage(kind: str, tmp_path: Path) -> None:
    expected = damaged(kind, tmp_path)
    roots = sorted(each for each in tmp_path.iterdir() if each.is_dir())
    outcome = epochlog("advise", *roots)
    assert outcome.out
    if kind in HARMLESS:
        return
    assert outcome.status != 0
    for name in places(expected):
        assert name not in reassured(outcome.out)
    for line in outcome.out.splitlines():
        # Whoever is named for a leader and is damaged is so in the same sentence.
        if f"{expected['replica']} (" in line and any(name in line.split(":")[0] for name in places(expected)):
            assert f"{expected['replica']} (not to be trusted: " in line, line
    without_reading = epochlog("advise", *roots, "--epochs-only")
    assert without_reading.out.startswith("the records were not read (--epochs-only)")
    assert not reassured(without_reading.out)


@pytest.mark.parametrize("kind", sorted({*damage_kinds()} - HARMLESS - {"missing_partition_dir"}))
def test_the_audit_never_reassures_of_damage(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = damaged(kind, tmp_path)
    document = document_of(tmp_path)
    assert exit_status(document, written=True) != 0
    _tell(document)
    told = capsys.readouterr().out
    for name in places(expected):
        assert name not in reassured(told)
    assert not reassured(render(document))


@pytest.mark.parametrize(("name", "left"), [("diverge-0", "*[!g]"), ("codecs-0", "partition.metadata")])
def test_nobody_reassures_of_a_partition_whose_segments_are_gone(
    name: str, left: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for broker in ("broker-1", "broker-2"):
        shutil.copytree(replicas("diverged") / broker, tmp_path / broker)
    for path in sorted((tmp_path / "broker-1" / name).iterdir()):
        if not path.match(left):
            path.unlink()
    assert not list((tmp_path / "broker-1" / name).glob("*.log"))
    assert (tmp_path / "broker-1" / name / "partition.metadata").exists()

    checked = epochlog("verify", tmp_path / "broker-1" / name)
    assert checked.status == 1
    assert "committed records are gone from this replica" in checked.out
    advised = epochlog("advise", tmp_path / "broker-1", tmp_path / "broker-2")
    document = document_of(tmp_path)
    _tell(document)
    for told in (advised.out, capsys.readouterr().out, render(document)):
        assert name in told
        assert not [line for line in reassured(told).splitlines() if name in line]
    (judged,) = [each for each in document["partitions"] if f"{each['topic']}-{each['partition']}" == name]
    assert "damaged" in judged["verdicts"]
    without, other = judged["candidates"]
    assert without["damage"].startswith("damaged, all its segments are missing: it has no .log file")
    assert other["damage"] is None


@pytest.mark.parametrize(
    ("label", "status", "disputed"),
    [("diverged", 3, {"diverge-0", "hwloss-0"}), ("reconciled", 0, set()), ("healed", 0, set())],
)
def test_golden_replicas_are_disputed_where_kafka_lost_records_and_nowhere_else(
    label: str, status: int, disputed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    document = document_of(replicas(label))
    outcome = epochlog("advise", *sorted(replicas(label).iterdir()), "--json")
    assert outcome.status == exit_status(document, written=True) == status
    assert {f"{each['topic']}-{each['partition']}" for each in document["partitions"] if each["forks"]} == disputed
    assert {each["topic"] for each in outcome.document["findings"] if each["severity"] == "critical"} == {
        name.removesuffix("-0") for name in disputed
    }
    text = epochlog("advise", *sorted(replicas(label).iterdir())).out
    _tell(document)
    for told in (text, capsys.readouterr().out):
        assert not [name for name in disputed if name in reassured(told)]
        assert told.startswith("critical: ") == bool(disputed)


def test_advise_and_the_audit_judge_alike() -> None:
    for label in LABELS:
        advised = epochlog("advise", *sorted(replicas(label).iterdir()), "--json").document["partitions"]
        audited = {(each["topic"], each["partition"]): each for each in document_of(replicas(label))["partitions"]}
        assert advised
        for each in advised:
            assert each == audited[each["topic"], each["partition"]]


def flip(path: Path, position: int) -> None:
    """Alter one bit of a file."""
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_what_was_acknowledged_counts_as_such_behind_damage_too(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    roots = [tmp_path / "broker-1", tmp_path / "broker-2"]
    [whole] = [each for each in document_of(tmp_path)["partitions"] if each["topic"] == "diverge"]
    assert (whole["latest_and_longest"], whole["candidates"][1]["acknowledged"]["records"]) == ("broker-2", 120)
    flip(roots[0] / "diverge-0" / f"{0:020}.log", 40_000)
    outcome = epochlog("advise", *roots, "--json")
    [partition] = [each for each in outcome.document["partitions"] if each["topic"] == "diverge"]
    [damaged_copy, chosen] = partition["candidates"]
    assert damaged_copy["log_end_offset"] < chosen["acknowledged"]["first_offset"]
    assert chosen["acknowledged"] == whole["candidates"][1]["acknowledged"]
    critical = [each for each in outcome.document["findings"] if each["severity"] == "critical"]
    assert ("broker-1", "diverge", 300) in [(each["replica"], each["topic"], each["offset"]) for each in critical]
    assert outcome.status == 3


def by_records(roots: list[Path]) -> dict[tuple[str, int], tuple[str, list[tuple[str, int, int]]]]:
    """The copy with the latest epoch and the longest log, and what it was chosen by, as `advise` says."""
    return {
        (each["topic"], each["partition"]): (
            each["latest_and_longest"],
            sorted((it["replica"], it["last_epoch"], it["log_end_offset"]) for it in each["candidates"]),
        )
        for each in epochlog("advise", *roots, "--json").document["partitions"]
    }


def by_epochs(roots: list[Path]) -> dict[tuple[str, int], tuple[str, list[tuple[str, int, int]]]]:
    """The same copy, and what it was chosen by, as `advise --epochs-only` says."""
    return {
        (each["topic"], each["partition"]): (
            each["recommended"],
            sorted((it["replica"], it["last_epoch"], it["end_offset"]) for it in each["replicas"]),
        )
        for each in epochlog("advise", *roots, "--epochs-only", "--json").document["by_epochs"]
    }


def agree(roots: list[Path]) -> None:
    """Both ways to advise choose alike; where copies are equal by the rule, either may be named."""
    judged, compared = by_records(roots), 0
    for partition, (choice, standings) in by_epochs(roots).items():
        # Without the records a copy whose checkpoint cannot be read is left out.
        assert {*standings} <= {*judged[partition][1]}, partition
        if len(standings) == len(judged[partition][1]):
            places = {name: (epoch, end) for name, epoch, end in standings}
            assert places[judged[partition][0]] == places[choice] == max(places.values())
            compared += 1
    assert compared


@pytest.mark.parametrize("kind", damage_kinds())
def test_the_latest_and_longest_is_the_same_whether_records_are_read_or_not(kind: str, tmp_path: Path) -> None:
    damaged(kind, tmp_path)
    agree(sorted(each for each in tmp_path.iterdir() if each.is_dir()))


@pytest.mark.parametrize("position", [100, 20_000, 50_000])
@pytest.mark.parametrize("broker", ["broker-1", "broker-2"])
def test_epochs_behind_damage_elect_nobody(broker: str, position: int, tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    flip(tmp_path / broker / "diverge-0" / f"{0:020}.log", position)
    roots = sorted(tmp_path.iterdir())
    agree(roots)
    assert by_records(roots)["diverge", 0][0] == ({"broker-1", "broker-2"} - {broker}).pop()


CONFIG = LogConfig(segment_bytes=1_000, retention_ms=-1)


def written(root: Path, records: int = 60) -> Path:
    """A root that was closed in order, with one log in several segments."""
    with LogDirectory.open(root, CONFIG) as directory:
        log = directory.create(TopicPartition("t", 0))
        for offset in range(records):
            log.append([Record.of(b"value %d" % offset, timestamp=1_700_000_000_000)], leader_epoch=offset // 40)
        log.update_high_watermark(records)
    return root


def lose_first_segment(root: Path) -> int:
    """Remove a log's first segment behind the broker's back; return where the log begins now."""
    first, second = sorted((root / "t-0").glob("*.log"))[:2]
    for path in (root / "t-0").glob(f"{first.stem}.*"):
        path.unlink()
    return int(second.stem)


@pytest.mark.parametrize("robbed", [0, 1])
def test_a_lost_first_segment_is_no_retention(robbed: int, tmp_path: Path) -> None:
    roots = [written(tmp_path / "broker-1"), written(tmp_path / "broker-2")]
    begin = lose_first_segment(roots[robbed])
    assert "first-segment-missing" in epochlog("verify", roots[robbed]).out
    outcome = epochlog("advise", *roots, "--json")
    [partition] = outcome.document["partitions"]
    assert outcome.status == 1
    assert partition["recommended"] == partition["latest_and_longest"] == roots[1 - robbed].name
    assert set(partition["verdicts"]) == {"damaged", "missing"}
    assert [each["lost"]["records"] for each in partition["candidates"]] == ([begin, 0] if robbed == 0 else [0, begin])
    assert not reassured(epochlog("advise", *roots).out.replace(f"{roots[1 - robbed].name} (leader", ""))


def test_what_first_segments_held_that_nobody_has_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roots = [written(tmp_path / "broker-1"), written(tmp_path / "broker-2")]
    begin = max(map(lose_first_segment, roots))
    outcome = epochlog("advise", *roots)
    assert outcome.status == 3
    assert outcome.out.startswith(f"critical: broker-1: {begin} records (offsets 0..{begin - 1})")
    assert not reassured(outcome.out)
    _tell(document_of(tmp_path))
    assert not reassured(capsys.readouterr().out)


def test_after_a_kill_a_lost_first_segment_is_as_missing(tmp_path: Path) -> None:
    roots = [written(tmp_path / "broker-1"), written(tmp_path / "broker-2")]
    for root in roots:
        lose_first_segment(root)
        (root / ".kafka_cleanshutdown").unlink()
    outcome = epochlog("advise", *roots)
    assert "its first segments are missing (offsets 0.." in outcome.out
    assert not reassured(outcome.out)


def test_what_retention_has_deleted_is_not_missing_and_the_longest_log_is_preferred(tmp_path: Path) -> None:
    roots = [written(tmp_path / "broker-1"), written(tmp_path / "broker-2")]
    with LogDirectory.open(roots[0], CONFIG) as directory:
        log = directory.partitions[TopicPartition("t", 0)]
        log.update_high_watermark(60)
        log.delete_records(45)
        assert log.delete_old_segments()
    assert epochlog("verify", roots[0]).status == 0
    outcome = epochlog("advise", *roots)
    assert outcome.status == 0
    assert outcome.out.strip() == (
        "all copies were read, any replica may lead, nothing is lost except what lies below the start of its log: "
        "t-0 (earliest start: broker-2)"
    )


def test_a_warning_is_counted_by_itself_and_is_no_damage(tmp_path: Path) -> None:
    expected = damaged("missing_index", tmp_path)
    outcome = epochlog("verify", tmp_path / expected["replica"])
    assert outcome.out.splitlines()[1].startswith("warning\t")
    assert outcome.out.splitlines()[-1].endswith("no damage, 1 warning")
    assert outcome.status == 0
    document = document_of(tmp_path)
    assert {each["severity"] for each in document["findings"]} & {"error", "critical", "warning"} == {"warning"}
    assert exit_status(document, written=True) == 0


def test_what_could_not_be_read_is_not_called_free_of_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = shutil.copytree(replicas("reconciled"), tmp_path, dirs_exist_ok=True) / "broker-1"
    log, real = min((root / "codecs-0").glob("*.log")), LogFile.open

    def refusing(path: Path) -> LogFile:
        if path == log:
            raise PermissionError(13, "Permission denied", str(path))  # root may open everything
        return real(path)

    monkeypatch.setattr(LogFile, "open", refusing)
    outcome = epochlog("verify", root)
    assert outcome.status == 2
    assert "no damage in what was read, 1 file unreadable" in outcome.out.splitlines()[-1]
    document = document_of(tmp_path)
    [unknown] = [each for each in document["partitions"] if each["verdict"] == "unknown"]
    assert (unknown["topic"], unknown["unread"], unknown["recommended"]) == ("codecs", ["broker-1"], None)
    assert exit_status(document, written=True) == 2
