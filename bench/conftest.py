"""Puts why benchmarks were skipped beside the figures of the others, so that the report can tell."""

from typing import Any, Final

import pytest

NO_BENCHMARK: Final = "Skipping non-benchmark"
"""How pytest-benchmark passes over plain tests where only benchmarks are wanted."""
SKIPPED: Final[dict[str, str]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the reason."""
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if not reason.startswith(NO_BENCHMARK):
            SKIPPED[report.nodeid] = reason


def pytest_benchmark_update_json(output_json: dict[str, Any]) -> None:
    """Write all reasons."""
    output_json["skipped"] = dict(SKIPPED)
