"""The reasons of skipped benchmarks stand beside the figures of the others."""

from typing import Any

import pytest

from bench import conftest
from bench.conftest import pytest_benchmark_update_json, pytest_runtest_logreport


def report(name: str, outcome: str, reason: str = "") -> pytest.TestReport:
    told = ("bench/bench_it.py", 1, f"Skipped: {reason}") if reason else None
    return pytest.TestReport(name, ("bench/bench_it.py", 1, name), {}, outcome, told, "call")  # type: ignore[arg-type]


def test_only_skipped_benchmarks_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "SKIPPED", {})
    pytest_runtest_logreport(report("measured", "passed"))
    pytest_runtest_logreport(report("large", "skipped", "9 GiB are needed"))
    pytest_runtest_logreport(report("a test", "skipped", "Skipping non-benchmark (--benchmark-only active)."))
    written: dict[str, Any] = {}
    pytest_benchmark_update_json(written)
    assert written == {"skipped": {"large": "9 GiB are needed"}}
