"""Operations as they are written down: read as they were done, and refused by their line where they are none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from replication.testing.history import History, HistoryError, Operation, Polled, Sent

SENT = Operation("p1", [Sent("orders-0", 5, "x"), Sent("orders-1", None, 7)], (), "unknown")
POLLED = Operation(3, (), [Polled("orders-0", 5, "x"), Polled("orders-0", 6, "y")], "ok", assigned=True)


def as_lists(operation: Operation) -> Operation:
    return operation._replace(sent=[*operation.sent], polled=[*operation.polled])


def test_operations_come_out_as_they_went_in() -> None:
    lines = [json.dumps(each.to_json()) for each in (SENT, Operation(), POLLED)]
    for history in (History.read(lines), History.of([SENT, Operation(), POLLED])):
        assert [history.operation(number) for number in range(3)] == [*map(as_lists, (SENT, Operation(), POLLED))]


def test_a_line_has_what_differs_from_an_operation_that_did_nothing() -> None:
    assert POLLED.to_json() == {
        "process": 3,
        "outcome": "ok",
        "polled": {"orders-0": [[5, "x"], [6, "y"]]},
        "assigned": True,
    }
    assert History.read(["{}"]).operation(0) == as_lists(Operation())


def test_one_value_in_two_partitions_is_two_records() -> None:
    history = History.of([Operation(sent=[Sent("a", 0, 1), Sent("b", 0, 1)])])
    assert [each.value for each in history.operation(0).sent] == [1, 1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"sent": {"a": [[0, 1]]}', "Expecting ',' delimiter"),
        ("[]", "'list' object has no attribute 'get'"),
        ('{"sent": [["a", 0, 1]]}', "'list' object has no attribute 'items'"),
        ('{"sent": {"a": [[0]]}}', "not enough values"),
        ('{"sent": {"a": [[0, 1], [2]]}}', "shorter"),
        ('{"polled": {"a": [[0.5, 1]]}}', "float"),
        ('{"polled": {"a": [["0", 1]]}}', "str"),
        ('{"polled": {"a": [[null, 1]]}}', "has an offset"),
        ('{"polled": {"a": [[-1, 1]]}}', "has an offset"),
        ('{"polled": {"a": [[9223372036854775808, 1]]}}', "too large|too big"),
        ('{"polled": {"a": [[0, []]]}}', "unhashable"),
        ('{"outcome": "fine"}', "'fine'|not in tuple"),
    ],
)
def test_what_is_no_operation_is_refused_by_its_line(line: str, told: str) -> None:
    with pytest.raises(HistoryError, match=f"operation 2 is not understood: .*({told})"):
        History.read(["{}", line, "{}"])


@pytest.mark.parametrize("value", ["1.5", "true", "null"])
def test_a_value_is_text_or_a_whole_number(value: str) -> None:
    with pytest.raises(HistoryError, match="use text, or whole numbers"):
        History.read([f'{{"sent": {{"a": [[0, {value}]]}}}}'])


def test_the_program_prints_counterexamples_and_fails_where_something_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "operations.jsonl"
    sent = Operation("p", [Sent("orders-0", 0, "x")]), Operation("p", [Sent("orders-0", 1, "y")])
    read = Operation("c", (), [Polled("orders-0", 0, "x"), Polled("orders-0", 1, "y")])
    for operations, status, told in (
        ((*sent, read), 0, ["3 operations, 2 records sent, 2 read", "no anomaly"]),
        (sent, 0, ["2 operations, 2 records sent, 0 read", "2 unseen (not promised), the first: "]),
        ((*sent, read._replace(polled=read.polled[1:])), 1, ["", "1 lost-write, the first: lost-write: orders-0"]),
    ):
        path.write_text("".join(json.dumps(each.to_json()) + "\n" for each in operations))
        run = subprocess.run(
            [sys.executable, "-m", "replication.testing.history", path], capture_output=True, text=True, check=False
        )
        assert run.returncode == status, run.stderr
        for line, start in zip(run.stdout.splitlines(), told, strict=False):
            assert line.startswith(start)
    for nonsense in ("{", "[" * 200_000):
        path.write_text(f"{nonsense}\n")
        run = subprocess.run(
            [sys.executable, "-m", "replication.testing.history", path], capture_output=True, text=True, check=False
        )
        assert (run.returncode, run.stderr.count("operation 1 is not understood")) == (2, 1)
