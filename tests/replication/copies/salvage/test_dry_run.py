"""A dry run that several processes share says what the run does."""

from pathlib import Path
from typing import Any

import pytest

from logstore.topic_partition import TopicPartition
from replication.base.errors import WorkerDiedError
from replication.salvage import SalvagePlan, plan_salvage
from tests.replication.copies.salvage.copies import ABORT, data, marker, write_copy

COMMON = data(0, b"common")


def some_plan(directory: Path) -> SalvagePlan:
    """Partitions with conflicts, transactions and damage, and one that cannot be read."""
    open_transaction = data(1, b"open", producer=7, transactional=True)
    aborted = [data(1, b"aborted", producer=8, transactional=True), marker(1, ABORT, 8)]
    losing = {
        "conflict": [data(1, b"ours", key=b"k"), data(1, b"alone", key=b"l")],
        "transactions": [*aborted, open_transaction],
        "damaged": [data(1, b"sound"), data(1, b"spoilt")],
        "unreadable": [data(1, b"x")],
    }
    for topic, parts in losing.items():
        write_copy(directory / "kept", [COMMON, data(2, b"theirs", key=b"k")], topic=topic)
        write_copy(directory / "other", [COMMON, *parts], topic=topic)
    log = directory / "other" / "damaged-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes().replace(b"spoilt", b"SPOILT"))
    (directory / "other" / "unreadable-0" / "leader-epoch-checkpoint").write_text("no checkpoint")
    return plan_salvage([directory / "kept", directory / "other"], "kept")


@pytest.mark.parametrize("workers", [None, 0, 1, 2])
def test_reports_and_errors_are_those_of_the_run(workers: int | None, tmp_path: Path) -> None:
    plan = some_plan(tmp_path)
    expected: list[Any] = []
    reports = [each.as_json() for each in plan.reports(on_error=lambda *told: expected.append(told))]
    errors: list[Any] = []
    dry = [each.as_json() for each in plan.dry_run(workers=workers, on_error=lambda *told: errors.append(told))]
    assert dry == reports
    assert [each["topic"] for each in dry] == ["conflict", "damaged", "transactions"]
    assert [(place, str(error)) for place, error in errors] == [(place, str(error)) for place, error in expected]
    assert [place for place, _ in errors] == [TopicPartition("unreadable", 0)]


def test_by_default_the_first_partition_that_cannot_be_read_ends_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="leader-epoch-checkpoint"):
        list(some_plan(tmp_path).dry_run(workers=2))


def test_processes_that_die_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.copies.workers.worker_pool.sys.executable", "/bin/false")
    with pytest.raises(WorkerDiedError):
        list(some_plan(tmp_path).dry_run(workers=1))
