"""What an audit says of the one before."""

import json
import re
from typing import Any

import pytest

from replication.copies.audit.judgement.run import MOVING, Changes, Run, Standing
from tests.docs.test_pages import DOCS
from tests.replication.copies.audit.report.documents import agreeing, document, finding, forked


def run(*args: object, time: float = 1_700_000_000, **more: object) -> Run:
    made = document(*args, **more)  # type: ignore[arg-type]
    made["metrics"]["time"] = time
    return Run.of(made)


def test_a_run_comes_back_from_its_bytes() -> None:
    kept = run(forked(), findings=(finding(),), time=999.5)
    assert Run.from_bytes(kept.to_bytes()) == kept


def test_the_same_again_is_nothing_new() -> None:
    both = [run(forked(), findings=(finding(),), time=time) for time in (1, 2)]
    changes = Changes.between(*both)
    assert (changes.since, changes.new, changes.gone) == (1, (), ())


def test_what_stands_has_the_time_at_which_it_was_first_there_without_a_break() -> None:
    damage, torn = finding(), finding(kind="torn-batch")
    runs: list[Run] = []
    for time, found in enumerate([(damage,), (damage, torn), (torn,), (torn, damage)], 1):
        made = document(forked("ledger"), findings=found)
        made["metrics"]["time"] = time
        runs.append(Run.of(made, runs[-1] if runs else None))

    place = "payments-0, offset 17"
    assert Changes.between(*runs[-2:]).standing == (
        Standing("ledger-0: forked", 1),
        Standing(f"broker-1: error torn-batch in {place}", 2),
        Standing(f"broker-1: error corrupt-batch in {place}", 4),
    )
    assert Changes.between(*runs[1:3]).ended == (Standing(f"broker-1: error corrupt-batch in {place}", 1),)
    assert Changes.between(*runs[-2:]).ended == ()


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("corrupt-batch", (17, "00000000000000000000.log"), (17, "00000000000000000010.log")),
        ("high-watermark-beyond-log-end", (90, "replication-offset-checkpoint"), (95, "replication-offset-checkpoint")),
        ("producer-snapshots-missing", (90, "00000000000000000090.snapshot"), (95, "00000000000000000095.snapshot")),
        ("index-missing", (None, "00000000000000000000.index"), (None, "00000000000000000000.index")),
    ],
)
def test_a_finding_keeps_its_name_while_its_log_grows(
    kind: str, before: tuple[int | None, str], after: tuple[int | None, str]
) -> None:
    runs = [
        run(findings=(finding(kind=kind, offset=offset, file=file, message=file),)) for offset, file in (before, after)
    ]
    assert runs[0].findings == runs[1].findings


@pytest.mark.parametrize("other", [{"offset": 18}, {"kind": "torn-batch"}, {"replica": "b"}, {"partition": 1}])
def test_another_finding_has_another_name(other: dict[str, Any]) -> None:
    assert run(findings=(finding(),)).findings != run(findings=(finding(**other),)).findings


def test_findings_whose_place_moves_are_findings_that_there_are() -> None:
    kinds = set(re.findall(r"`([a-z0-9-]+)`", (DOCS / "findings.md").read_text()))
    assert kinds >= MOVING


def test_runs_at_the_same_time_know_what_each_other_found_first() -> None:
    first, second = run(forked("ledger"), time=100), run(forked("ledger"), forked("orders"), time=101)
    assert Run(first.metrics | {"seconds": 1}, {}, ()).overlaps(second)
    assert not Run(first.metrics | {"seconds": 0.5}, {}, ()).overlaps(second)
    assert second.with_since_of(first).since == {"ledger-0: forked": 100, "orders-0: forked": 101}


def test_a_run_that_does_not_say_since_when_stands_since_it_began() -> None:
    kept = json.loads(run(forked("ledger"), time=5).to_bytes())
    del kept["since"]
    before = Run.from_bytes(json.dumps(kept).encode())
    assert before.since == {"ledger-0: forked": 5}


def test_new_and_healed_partitions_and_findings_are_told() -> None:
    before = run(agreeing("orders", 0, "lagging"), forked("ledger"), findings=(finding(kind="torn-batch"),))
    now = run(agreeing("orders", 0), forked("payments"), agreeing("ledger", 0, "lagging"), findings=(finding(),))
    changes = Changes.between(before, now)
    assert changes.new == (
        "ledger-0: lagging (was forked)",
        "payments-0: forked (was identical)",
        "broker-1: error corrupt-batch in payments-0, offset 17",
    )
    assert changes.gone == (
        "orders-0: lagging (now identical)",
        "broker-1: error torn-batch in payments-0, offset 17",
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "metrics": {}, "verdicts": {}, "findings": []}']
)
def test_anything_else_is_no_run(text: str) -> None:
    with pytest.raises(ValueError, match=r"run of an audit|version|Expecting"):
        Run.from_bytes(text.encode())
