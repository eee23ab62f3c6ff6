"""What an audit says of the one before."""

from pathlib import Path

import pytest

from replication.audit.judgement.history import Changes, Run, keep_run, latest_run
from replication.errors import HistoryError
from tests.replication.audit.report.documents import agreeing, document, finding, forked


def run(*args: object, time: float = 1_700_000_000, **more: object) -> Run:
    made = document(*args, **more)  # type: ignore[arg-type]
    made["metrics"]["time"] = time
    return Run.of(made)


def test_there_is_nothing_to_compare_the_first_run_with(tmp_path: Path) -> None:
    assert latest_run(tmp_path / "none") is None


def test_the_last_run_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    runs = [run(forked(), findings=(finding(),), time=time) for time in (999.5, 1_000.25, 20_000.125)]
    for each in runs:
        keep_run(tmp_path / "history", each)
        assert latest_run(tmp_path / "history") == each


def test_the_same_again_is_nothing_new() -> None:
    both = [run(forked(), findings=(finding(),), time=time) for time in (1, 2)]
    assert Changes.between(*both) == Changes(1, (), ())


def test_new_and_healed_partitions_and_findings_are_told() -> None:
    before = run(agreeing("orders", 0, "lagging"), forked("ledger"), findings=(finding(kind="torn-batch"),))
    now = run(agreeing("orders", 0), forked("payments"), agreeing("ledger", 0, "lagging"), findings=(finding(),))
    changes = Changes.between(before, now)
    assert changes.new == (
        "ledger-0: lagging (was forked)",
        "payments-0: forked (was identical)",
        "broker-1: error corrupt-batch in payments-0, 00000000000000000000.log, offset 17",
    )
    assert changes.gone == (
        "orders-0: lagging (now identical)",
        "broker-1: error torn-batch in payments-0, 00000000000000000000.log, offset 17",
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "metrics": {}, "verdicts": {}, "findings": []}']
)
def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "audit-1.json"
    file.write_text(text)
    with pytest.raises(HistoryError, match=file.name.replace(".", r"\.")):
        latest_run(tmp_path)
