"""Small logs are read in plain Python, with the same outcome as by the kernels."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.batches import read_batches
from logstore.batch.columns import BatchColumns
from logstore.offline import batch_scan
from logstore.offline.batch_scan import PLAIN_BUDGET
from logstore.offline.log_file import LogFile
from tests.logstore.batches import log
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import damaged

PROGRAM = """
import sys
from logstore import LogFile
for path in sys.argv[1:]:
    with LogFile.open(path) as log:
        count = sum(map(len, log.scan()))
    print(count, {"numba", "llvmlite"}.isdisjoint(sys.modules))
"""


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLAIN_BUDGET, "batches_left", 10_000)


def whole(data: bytes, *, plain_batches: int) -> dict[str, Any]:
    """All chunks as one, with the reason for which the last ended."""
    PLAIN_BUDGET.batches_left = plain_batches
    chunks = list(LogFile(memoryview(data)).scan())
    names = [field.name for field in dataclasses.fields(BatchColumns)[:15]]
    of = {name: [value for chunk in chunks for value in getattr(chunk, name).tolist()] for name in names}
    return (
        of
        | {"types": [getattr(chunks[0], name).dtype for name in names]}
        | {
            "next_position": chunks[-1].next_position,
            "stop": chunks[-1].stop,
        }
    )


@settings(max_examples=EXAMPLES)
@given(damaged(), st.integers(0, 5))
def test_plain_python_and_kernels_read_the_same(data: bytes, few: int) -> None:
    expected = whole(data, plain_batches=0)
    assert whole(data, plain_batches=10_000) == expected
    assert whole(data, plain_batches=few) == expected


def test_plain_python_reads_no_more_batches_than_it_may() -> None:
    PLAIN_BUDGET.batches_left = 25
    with LogFile(memoryview(log(batches=10))) as file:
        for left in (15, 5, 0, 0):
            assert sum(map(len, file.scan())) == 10
            assert PLAIN_BUDGET.batches_left == left


def test_other_threads_may_take_what_is_left_of_it_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def take_all(*arguments: Any) -> Any:
        PLAIN_BUDGET.batches_left = min(PLAIN_BUDGET.batches_left, -3)
        return read_batches(*arguments)

    monkeypatch.setattr(batch_scan, "read_batches", take_all)
    assert sum(map(len, LogFile(memoryview(log(batches=10))).scan())) == 10
    assert PLAIN_BUDGET.is_spent


def test_a_large_log_is_left_to_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    data = log(batches=10)
    monkeypatch.setattr(batch_scan, "SMALL", len(data) - 1)
    assert sum(map(len, LogFile(memoryview(data)).scan())) == 10
    assert PLAIN_BUDGET.batches_left == 0


def test_no_kernel_is_loaded_for_a_small_log_without_damage(tmp_path: Path) -> None:
    (tmp_path / "sound").write_bytes(log(batches=10))
    (tmp_path / "torn").write_bytes(log(batches=10)[:-1])
    program = [sys.executable, "-c", PROGRAM, tmp_path / "sound", tmp_path / "torn"]
    output = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert output.split("\n")[:2] == ["10 True", "9 False"]
