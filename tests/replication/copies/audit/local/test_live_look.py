"""A look at the copies of a partition counts only if none of their files moved, whatever moves and whenever."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from replication.copies.audit.examination.copy_examiner import Examiner, Row
from replication.copies.audit.examination.kept.header_cache import HeaderCache
from replication.copies.audit.local import live_look
from replication.copies.audit.local.live_look import LiveLook, cut_off, look
from replication.copies.audit.local.live_task import LiveTask, live_tasks
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.pipeline.audit_plan import plan_audit
from replication.copies.audit.snapshots.foretold_election import RUNNING
from replication.copies.audit.snapshots.work import Job
from tests.replication.copies.audit.local.live_brokers import BUSY, LiveBrokers
from tests.replication.copies.audit.one_process import audit_here
from tests.replication.copies.audit.snapshot_roots import age

Change = Callable[[LiveBrokers], object]
NAMES = ("broker-1", "broker-2")
CHANGES: dict[str, Change] = {
    "append": lambda brokers: brokers.write(BUSY, 5),
    "append by the follower": lambda brokers: brokers.replicate(BUSY),
    "new epoch": lambda brokers: brokers.logs(BUSY)[0].assign_epoch(7, brokers.logs(BUSY)[0].log_end_offset),
    "truncation": lambda brokers: brokers.logs(BUSY)[0].truncate_to(2_000),
    "truncation of a batch": lambda brokers: brokers.logs(BUSY)[0].truncate_to(3_100),
    "truncation and as much anew": lambda brokers: (
        brokers.logs(BUSY)[1].truncate_to(3_000),
        brokers.logs(BUSY)[1].append_batches(brokers.logs(BUSY)[0].read(3_000, 1).data),
    ),
    "all cut off": lambda brokers: brokers.logs(BUSY)[1].truncate_fully_and_start_at(3_000),
    "segments deleted": lambda brokers: (
        brokers.logs(BUSY)[0].delete_records(2_500),
        brokers.logs(BUSY)[0].delete_old_segments(),
    ),
    "a segment rolled": lambda brokers: brokers.logs(BUSY)[1].roll(),
    "one copy deleted": lambda brokers: brokers.directories[1].delete(BUSY),
}
MOVED = {"append by the follower", "truncation and as much anew", "all cut off", "a segment rolled", "one copy deleted"}
"""Those that move the follower's copy; the others move the leader's."""


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[LiveBrokers]:
    """The follower has 3,100 of 3,200 records."""
    with LiveBrokers(tmp_path / "live") as brokers:
        for _ in range(30):
            brokers.write(BUSY, 100)
        brokers.replicate(BUSY)
        brokers.write(BUSY, 100)
        yield brokers


class Meddling:
    """An examiner during whose work something happens: before a copy is read, or while it is."""

    def __init__(self, happens: Callable[[], object], moment: int, examiner: Examiner | None = None) -> None:
        self._happens, self._left = happens, moment
        self._examiner = examiner or Examiner(is_live=True)

    def row(self, job: Job) -> Row:
        if not self._left:
            self._happens()
        self._left -= 1
        return self._examiner.row(job)


def task_of(brokers: LiveBrokers, **options: Any) -> LiveTask:
    plan = plan_audit(brokers.roots, AuditOptions(topics=[BUSY.topic], live=True, **options))
    (task,) = (task for task in live_tasks(plan) if task.partition == BUSY)
    return task


def look_now(brokers: LiveBrokers) -> LiveLook:
    return look(task_of(brokers), partial(Examiner, is_live=True))


def moved(seen: LiveLook) -> set[str]:
    return {job.replica for job in seen.moved}


def verdict(seen: LiveLook) -> Any:
    assert seen.judged is not None
    return seen.judged["verdict"]


def findings(seen: LiveLook) -> list[Row]:
    """All that is wrong; a log of ours makes the indexes of its active segment when it is flushed."""
    judged = seen.judged or {"findings": []}
    found = [*judged["findings"], *(finding for row in seen.rows.values() for finding in row["findings"])]
    return [each for each in found if each["severity"] != "info" and each["kind"] != "index-missing"]


def test_copies_that_stand_still_are_judged_as_a_snapshot_of_them(brokers: LiveBrokers, tmp_path: Path) -> None:
    seen = look_now(brokers)
    copies = [shutil.copytree(root, tmp_path / "snapshot" / root.name) for root in brokers.roots]
    (expected, _), _ = audit_here(*copies)
    assert (moved(seen), seen.is_gone) == (set(), False)
    assert seen.judged is not None
    places = dict(zip(map(str, brokers.roots), map(str, copies), strict=True))
    for branch in seen.judged["branches"]:
        root, _, name = branch["directory"].rpartition("/")
        branch["directory"] = f"{places[root]}/{name}"
    # How brokers that run will stop is not known: of a snapshot another reason is told, as no copy has the metadata.
    assert seen.judged["election"]["why_unknown"] == RUNNING
    expected["election"] = {**expected["election"], "why_unknown": RUNNING}
    assert {name: seen.judged[name] for name in expected} == expected
    assert verdict(seen) == "lagging"


@pytest.mark.parametrize("moment", [0, 1, 2], ids=["before the first", "between", "while judging"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_moves_in_between_makes_the_look_void(
    brokers: LiveBrokers, change: str, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    happens = partial(CHANGES[change], brokers)
    if moment == len(NAMES):
        judge, left = live_look.judge_rows, [happens]

        def judge_late(*arguments: Any) -> Row:
            if left:
                left.pop()()
            return judge(*arguments)

        monkeypatch.setattr(live_look, "judge_rows", judge_late)
    seen = look(task_of(brokers), partial(Meddling, happens, moment))  # type: ignore[arg-type]  # it has what is used
    mover = NAMES[change in MOVED]
    assert moved(seen) == {mover}
    assert seen.judged is not None
    assert (seen.judged["verdict"], seen.judged["verdicts"], seen.judged["unread"]) == ("unknown", ["unknown"], [mover])
    assert seen.judged["recommended"] is None
    assert {branch["replica"] for branch in seen.judged["branches"]} == {*NAMES} - {mover}
    assert findings(seen) == []


@pytest.mark.parametrize("change", [change for change in CHANGES if change != "one copy deleted"])
def test_the_next_look_sees_what_has_become_of_it(brokers: LiveBrokers, change: str) -> None:
    task = task_of(brokers)
    CHANGES[change](brokers)
    seen = look(task, partial(Examiner, is_live=True))
    assert moved(seen) == set()
    assert verdict(seen) in {"lagging", "identical", "retention"}
    assert findings(seen) == []


def test_checkpoint_files_of_the_root_may_be_written_at_any_time(brokers: LiveBrokers) -> None:
    seen = look(task_of(brokers), partial(Meddling, brokers.checkpoint, 1))  # type: ignore[arg-type]  # as above
    assert (moved(seen), verdict(seen)) == (set(), "lagging")


def test_checkpoint_files_are_those_of_the_look(brokers: LiveBrokers) -> None:
    """Older ones would say that records below the high watermark are gone."""
    brokers.replicate(BUSY)
    brokers.checkpoint()
    assert verdict(look_now(brokers)) == "identical"
    for log in brokers.logs(BUSY):
        log.truncate_fully_and_start_at(0)
    brokers.checkpoint()
    seen = look_now(brokers)
    assert (verdict(seen), findings(seen)) == ("identical", [])


def test_a_partition_that_is_deleted_is_gone(brokers: LiveBrokers) -> None:
    task = task_of(brokers)
    for each in brokers.directories:
        each.delete(BUSY)
    seen = look(task, partial(Examiner, is_live=True))
    assert (seen.is_gone, seen.judged, moved(seen)) == (True, None, set())


def test_a_copy_that_went_before_the_look_is_never_known(brokers: LiveBrokers) -> None:
    task = task_of(brokers)
    brokers.directories[0].delete(BUSY)
    for _ in range(2):
        seen = look(task, partial(Examiner, is_live=True))
        assert list(seen.moved.values()) == ["the directory was there when the snapshots were listed, and is gone"]
        assert (moved(seen), verdict(seen)) == ({"broker-1"}, "unknown")


def test_a_copy_that_came_after_the_listing_is_never_known(brokers: LiveBrokers) -> None:
    brokers.checkpoint()
    elsewhere = brokers.roots[1].parent / "aside"
    copy = brokers.roots[1] / str(BUSY)
    shutil.move(copy, elsewhere)
    task = task_of(brokers)
    assert task.missing == ("broker-2",)
    shutil.move(elsewhere, copy)
    seen = look(task, partial(Examiner, is_live=True))
    assert list(seen.moved.values()) == ["the directory was not there when the snapshots were listed, and is now"]
    assert (moved(seen), verdict(seen)) == ({"broker-2"}, "unknown")


def test_where_the_reader_was_ended_nothing_is_known(brokers: LiveBrokers) -> None:
    seen = cut_off(task_of(brokers))
    assert (moved(seen), verdict(seen)) == ({*NAMES}, "unknown")
    assert seen.judged is not None
    assert seen.judged["unread"] == [*NAMES]


def test_what_a_reader_stumbles_over_counts_only_if_nothing_moved(brokers: LiveBrokers) -> None:
    class Stumbling(Meddling):
        def row(self, job: Job) -> Row:
            super().row(job)
            raise IndexError(job.replica)

    seen = look(task_of(brokers), partial(Stumbling, partial(brokers.write, BUSY, 5), 0))  # type: ignore[arg-type]
    assert seen.judged is not None
    assert (moved(seen), seen.judged["verdicts"], seen.judged["unread"]) == ({"broker-1"}, ["unknown"], [*NAMES])
    with pytest.raises(IndexError, match="broker-1"):
        look(task_of(brokers), partial(Stumbling, lambda: None, 0))  # type: ignore[arg-type]  # as above


def test_what_moves_while_the_other_copies_are_judged_leaves_nothing_known(
    brokers: LiveBrokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = live_look.judge_rows

    def stumble(rows: list[Row], *arguments: Any) -> Row:
        if sum(row["summary"] is not None for row in rows) == 1:
            raise ValueError("a position beyond the end")
        return judge(rows, *arguments)

    monkeypatch.setattr(live_look, "judge_rows", stumble)
    seen = look(task_of(brokers), partial(Meddling, partial(brokers.write, BUSY, 5), 1))  # type: ignore[arg-type]
    assert seen.judged is not None
    assert (moved(seen), seen.judged["verdicts"], seen.judged["unread"]) == ({"broker-1"}, ["unknown"], [*NAMES])


def test_damage_of_a_copy_that_stands_still_is_told_although_the_other_moves(brokers: LiveBrokers) -> None:
    first = min((brokers.roots[1] / str(BUSY)).glob("*.log"))
    data = bytearray(first.read_bytes())
    data[100] ^= 1
    first.write_bytes(data)
    happens = partial(brokers.write, BUSY, 5)
    seen = look(task_of(brokers), partial(Meddling, happens, 1))  # type: ignore[arg-type]  # as above
    assert seen.judged is not None
    assert seen.judged["verdicts"] == ["unknown", "damaged"]
    assert {(each["replica"], each["kind"]) for each in findings(seen)} == {("broker-2", "corrupt-batch")}


def test_a_roots_own_files_have_to_stand_still_too(brokers: LiveBrokers) -> None:
    plan = plan_audit(brokers.roots, AuditOptions(live=True))
    (root, _) = (task for task in live_tasks(plan) if task.partition is None)
    still = look(root, partial(Examiner, is_live=True))
    assert (moved(still), still.judged) == (set(), None)
    seen = look(root, partial(Meddling, brokers.checkpoint, 0))  # type: ignore[arg-type]  # as above
    assert moved(seen) == {"broker-1"}
    assert [row["findings"] for row in seen.rows.values()] == [[]]


def test_closed_segments_are_read_once_with_a_history(brokers: LiveBrokers, tmp_path: Path) -> None:
    """Also those of a copy whose active segment moved meanwhile: the next look has to read no more than that."""
    leader = brokers.roots[0] / str(BUSY)
    closed, active = sorted(file.name for file in leader.glob("*.log"))
    age(leader)
    brokers.write(BUSY, 5)
    plan = plan_audit(brokers.roots, AuditOptions(topics=[BUSY.topic], live=True, history=tmp_path / "history"))
    assert plan.history is not None
    (task,) = (task for task in live_tasks(plan) if task.partition == BUSY)
    copy = task.listed[0].copy
    assert copy is not None
    cache = HeaderCache(plan.history.headers, plan.begun_microseconds, records=False)

    meddling = Meddling(partial(brokers.write, BUSY, 5), 0, plan.new_examiner())
    assert moved(look(task, lambda: meddling)) == {"broker-1"}  # type: ignore[arg-type,return-value]  # as above
    assert list(cache.of(copy).cached) == [closed]
    seen = look(task, plan.new_examiner)
    assert (moved(seen), verdict(seen)) == (set(), "lagging")
    (leaders, _) = seen.rows.values()
    assert [segment["file"] for segment in leaders["segments"]] == [closed, active]
