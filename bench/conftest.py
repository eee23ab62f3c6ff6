"""Compiles before anything is measured; puts why benchmarks were skipped beside the figures of the others."""

import os
from typing import Any, Final

import pytest

from logstore import warm

os.environ.setdefault("EPOCHLOG_COMPILE", "now")  # also for the processes that benchmarks start

NO_BENCHMARK: Final = "Skipping non-benchmark"
"""How pytest-benchmark passes over plain tests where only benchmarks are wanted."""
SKIPPED: Final[dict[str, str]] = {}


@pytest.fixture(scope="session", autouse=True)
def _compiled_kernels() -> None:
    """Count no compiling: all kernels are there before the first round, and kept for processes that rounds start."""
    warm()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the reason."""
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if not reason.startswith(NO_BENCHMARK):
            SKIPPED[report.nodeid] = reason


def pytest_benchmark_update_json(output_json: dict[str, Any]) -> None:
    """Write all reasons."""
    output_json["skipped"] = dict(SKIPPED)
