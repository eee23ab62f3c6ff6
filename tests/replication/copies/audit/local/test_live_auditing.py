"""Audits of brokers that write meanwhile: what stands still later is known, and nothing false is said of the rest."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from replication.audit import LocalAudit, audit_locally
from replication.base.errors import LiveAuditError, NotAllowedError, WorkerDiedError, WrongTypeError
from replication.copies.audit.local import live_auditing
from tests.campaign import Campaign
from tests.data.replicas import PROJECT, replicas
from tests.replication.cli.schemas import validate
from tests.replication.copies.audit.local.calls import (
    MOVING,
    cut_off_in_the_busy_topic,
    killed_in_the_busy_topic,
    look_while_it_moves,
)
from tests.replication.copies.audit.local.live_brokers import BUSY, QUIET, LiveBrokers

CAMPAIGN = Campaign("audit: partitions that move, read again", full=300, share=3)
HARMLESS = {"identical", "lagging", "retention"}
EPOCH_LEFT = "epoch-beyond-log-end"
"""Epochs that were cut off stay in the checkpoint file until the next one begins, as Kafka's do."""
SHORT = 0.5
"""Seconds of patience with what never stands still."""


class Writing:
    """Brokers in a process of their own."""

    def __init__(self, directory: Path, process: "subprocess.Popen[str]") -> None:
        self.roots = [directory / "broker-1", directory / "broker-2"]
        self._process = process

    def stop(self) -> None:
        """Let the follower fetch the rest, and then nothing move any more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        assert self._process.stdout.readline() == "still\n"


@contextmanager
def writing(directory: Path, way: str) -> Iterator[Writing]:
    command = [sys.executable, "-m", "tests.replication.copies.audit.local.live_brokers", str(directory), way]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=PROJECT, **pipes) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Writing(directory, process)
        finally:
            process.kill()


def partitions(audited: LocalAudit) -> dict[str, dict[str, Any]]:
    return {each["topic"]: each for each in audited.document["partitions"]}


def troubles(audited: LocalAudit) -> list[tuple[str, str]]:
    """Whose files are said to be wrong, and how; a log of ours makes the indexes of its active segment later."""
    found = [each for each in audited.document["findings"] if each["severity"] != "info"]
    return [(each["replica"], each["kind"]) for each in found if each["kind"] != "index-missing"]


@pytest.fixture
def moving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveBrokers]:
    """Brokers whose busy topic moves each time that it is read, until the file MOVING is gone."""
    monkeypatch.setattr(live_auditing, "look", look_while_it_moves)
    with LiveBrokers(tmp_path) as brokers:
        (tmp_path / MOVING).touch()
        yield brokers


def test_what_stands_still_later_is_known_in_the_end(moving: LiveBrokers, tmp_path: Path) -> None:
    left = [4]  # two roots and two partitions

    def stop_after_the_first_pass(_: int) -> None:
        left[0] -= 1
        if not left[0]:
            (tmp_path / MOVING).unlink()

    audited = audit_locally(moving.roots, live=True, workers=1, progress=stop_after_the_first_pass)
    document, told = audited.document, partitions(audited)
    assert (told["quiet"]["verdict"], told["busy"]["verdict"]) == ("identical", "identical")
    assert [branch["log_end_offset"] for branch in told["busy"]["branches"]] == [101, 101]
    assert troubles(audited) == []
    again = {"topic": "busy", "partition": 0, "reads": 2, "moved": []}
    assert document["live"] == {"passes": 2, "patience": 60.0, "read_again": [again], "gone": [], "bootstrap": None}
    validate("demo", document, part="audit")


def test_what_never_stands_still_is_unknown_and_nothing_else_is_said_of_it(moving: LiveBrokers) -> None:
    audited = audit_locally(moving.roots, live=True, patience=SHORT, workers=1)
    told, live = partitions(audited), audited.document["live"]
    assert told["quiet"]["verdict"] == "identical"
    assert (told["busy"]["verdicts"], told["busy"]["unread"]) == (["unknown"], ["broker-1", "broker-2"])
    (again,) = live["read_again"]
    assert again["moved"] == ["broker-1", "broker-2"]
    assert again["reads"] == live["passes"] >= 2
    assert troubles(audited) == [("broker-1", "moved-while-read"), ("broker-2", "moved-while-read")]
    for finding in audited.document["findings"]:
        if finding["kind"] == "moved-while-read":
            assert finding["message"].startswith("00000000000000000000.log had ")
            assert f" (read {live['passes']} times): what this copy holds is unknown; " in finding["message"]
            assert "\n" not in finding["message"]


@pytest.mark.parametrize("way", ["grow", "cut", "forget"])
def test_of_what_another_process_writes_meanwhile_nothing_false_is_said(tmp_path: Path, way: str) -> None:
    with writing(tmp_path / "live", way) as brokers:
        meanwhile = audit_locally(brokers.roots, live=True, patience=SHORT, workers=1)
        brokers.stop()
        later = audit_locally(brokers.roots, live=True, workers=1)
    told = partitions(meanwhile)
    moved = [replica for replica, kind in troubles(meanwhile) if kind == "moved-while-read"]
    assert told["quiet"]["verdict"] == "identical"
    assert told["busy"]["verdicts"] == ["unknown"] if moved else set(told["busy"]["verdicts"]) <= HARMLESS
    assert told["busy"]["unread"] == moved
    assert {kind for _, kind in troubles(meanwhile)} <= {"moved-while-read", EPOCH_LEFT}
    told = partitions(later)
    assert told["quiet"]["verdict"] == "identical"
    assert set(told["busy"]["verdicts"]) <= {"identical", "retention"}
    assert {branch["log_end_offset"] for branch in told["busy"]["branches"]} != {100}
    assert troubles(later) == []
    assert later.document["live"]["passes"] == 1


def test_a_partition_that_moves_is_never_called_what_it_is_not(tmp_path: Path) -> None:
    """Threads of this process write, now and then with a pause long enough for a look."""
    chance = random.Random(CAMPAIGN.seed)
    seen: set[str] = set()
    for number in range(CAMPAIGN.count):
        ended = threading.Event()
        with LiveBrokers(tmp_path / str(number)) as brokers:

            def write(
                brokers: LiveBrokers = brokers, ended: threading.Event = ended, seed: float = chance.random()
            ) -> None:
                chance = random.Random(seed)
                while not ended.wait(chance.choice([0.001, 0.01, 0.1, 1.0])):
                    brokers.write(BUSY, chance.randrange(1, 20))
                    if chance.random() < 0.5:
                        brokers.replicate(BUSY)
                    if chance.random() < 0.05:
                        brokers.lead_anew(BUSY, chance.randrange(200))
                    if chance.random() < 0.1:
                        brokers.forget(BUSY, chance.randrange(200))

            writer = threading.Thread(target=write)
            writer.start()
            audited = audit_locally(brokers.roots, live=True, patience=chance.choice([0.0, 1.0, 3.0]), workers=1)
            ended.set()
            writer.join()
        told = partitions(audited)
        assert told["quiet"]["verdict"] == "identical"
        assert set(told["busy"]["verdicts"]) <= HARMLESS or told["busy"]["verdicts"] == ["unknown"]
        assert {kind for _, kind in troubles(audited)} <= {"moved-while-read", EPOCH_LEFT}
        seen |= {*told["busy"]["verdicts"]}
    CAMPAIGN.report(CAMPAIGN.count, ", ".join(sorted(seen)))


def _without_election(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of brokers that run it is not foretold whom Kafka elects."""
    return [{**each, "election": None} for each in document["partitions"]]


def test_where_nothing_moves_it_gives_what_an_audit_of_snapshots_gives() -> None:
    """What has forked is read twice before it counts."""
    live, still = (audit_locally([replicas("diverged")], live=live) for live in (True, False))
    forked = [each for each in still.document["partitions"] if each["forks"]]
    assert len(forked) == 2
    again = [{"topic": each["topic"], "partition": each["partition"], "reads": 2, "moved": []} for each in forked]
    assert live.document["live"] == {"passes": 2, "patience": 60.0, "read_again": again, "gone": [], "bootstrap": None}
    assert still.document["live"] is None
    for key in ("findings", "snapshots"):
        assert live.document[key] == still.document[key], key
    assert _without_election(live.document) == _without_election(still.document)
    for name in ("pairs", "forks", "branches", "segments", "epochs"):
        kept = [name for name in getattr(live, name).column_names if name not in {"run_id", "run_at", "read_at"}]
        rows = [sorted(map(str, getattr(each, name).select(kept).to_pylist())) for each in (live, still)]
        assert rows[0] == rows[1], name


@pytest.mark.parametrize("patience", [0, 60])
def test_what_is_wrong_for_a_moment_counts_only_where_it_cannot_be_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """As the recovery point is until its file is written after a truncation."""
    file = tmp_path / "broker-2/recovery-point-offset-checkpoint"
    with LiveBrokers(tmp_path) as brokers:
        brokers.logs(BUSY)[1].flush()
        brokers.checkpoint()
        sound = file.read_text()
        file.write_text(sound.replace("busy 0 100", "busy 0 500"))
        monkeypatch.setattr(live_auditing, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pause(file, sound)))
        audited = audit_locally(brokers.roots, live=True, patience=patience, workers=1)
    assert partitions(audited)["busy"]["verdict"] == ("identical" if patience else "damaged")
    assert ("broker-2", "recovery-point-beyond-log-end") in troubles(audited) or patience


def pause(file: Path, sound: str) -> Callable[[float], None]:
    """What happens between two passes."""

    def sleep(seconds: float) -> None:
        if seconds:
            file.write_text(sound)

    return sleep


def test_a_reader_that_is_ended_by_a_truncation_has_seen_a_copy_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_auditing, "look", cut_off_in_the_busy_topic)
    with LiveBrokers(tmp_path) as brokers:
        audited = audit_locally(brokers.roots, live=True, patience=0, workers=1)
    told = partitions(audited)
    assert (told["quiet"]["verdict"], told["busy"]["verdict"]) == ("identical", "unknown")
    assert told["busy"]["unread"] == ["broker-1", "broker-2"]
    assert troubles(audited) == [("broker-1", "moved-while-read"), ("broker-2", "moved-while-read")]
    assert "files were truncated under their reader (read once)" in str(audited.document["findings"])


def test_a_reader_that_is_ended_otherwise_ends_the_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_auditing, "look", killed_in_the_busy_topic)
    with LiveBrokers(tmp_path) as brokers, pytest.raises(WorkerDiedError) as raised:
        audit_locally(brokers.roots, live=True, workers=1)
    assert raised.value.status == -signal.SIGKILL


def test_a_topic_that_is_deleted_meanwhile_has_no_verdict(tmp_path: Path) -> None:
    with LiveBrokers(tmp_path) as brokers:
        plan = live_auditing.live_tasks

        def deleted_after_planning(*arguments: Any) -> Any:
            tasks = list(plan(*arguments))
            for each in brokers.directories:
                each.delete(QUIET)
            return tasks

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(live_auditing, "live_tasks", deleted_after_planning)
            audited = audit_locally(brokers.roots, live=True, workers=1)
    assert list(partitions(audited)) == ["busy"]
    assert audited.document["live"]["gone"] == [{"topic": "quiet", "partition": 0}]
    assert troubles(audited) == []


def test_a_topic_that_is_made_meanwhile_is_not_nowhere(tmp_path: Path) -> None:
    with LiveBrokers(tmp_path) as brokers:
        checkpoint = brokers.roots[0] / "replication-offset-checkpoint"
        brokers.checkpoint()
        lines = checkpoint.read_text().splitlines()
        checkpoint.write_text("\n".join([lines[0], str(int(lines[1]) + 1), *lines[2:], "new 0 0", ""]))
        nowhere = audit_locally(brokers.roots, live=True, workers=1)
        plan = live_auditing.live_tasks

        def made_after_planning(*arguments: Any) -> Any:
            tasks = list(plan(*arguments))
            (brokers.roots[0] / "new-0").mkdir()
            return tasks

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(live_auditing, "live_tasks", made_after_planning)
            made = audit_locally(brokers.roots, live=True, workers=1)
    kinds = [{kind for _, kind in troubles(each)} & {"partition-nowhere"} for each in (nowhere, made)]
    assert kinds == [{"partition-nowhere"}, set()]


def test_tables_that_are_read_again_are_refused() -> None:
    audited = audit_locally([replicas("healed")], topics=["steady"], live=True)
    assert audited.partitions.num_rows > 0
    for name in ("batches", "differences"):
        with pytest.raises(LiveAuditError, match=f"no {name}"):
            getattr(audited, name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": 0}, "workers cannot be 0; allowed: None, or a whole number from 1 on"),
        ({"task_bytes": 1 << 20}, "task_bytes cannot be 1048576; allowed: None with live=True"),
        ({"patience": -1}, "patience cannot be -1; allowed: a number of seconds from 0 on"),
        ({"patience": float("nan")}, "patience cannot be nan"),
        ({"patience": float("inf")}, "patience cannot be inf"),
    ],
)
def test_what_cannot_be_with_running_brokers_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(NotAllowedError) as raised:
        audit_locally([replicas("diverged")], live=True, **options)
    assert words in str(raised.value)


@pytest.mark.parametrize("options", [{"live": 1}, {"patience": "60"}, {"patience": True}])
def test_what_is_no_value_of_an_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(WrongTypeError):
        audit_locally([replicas("diverged")], **options)
