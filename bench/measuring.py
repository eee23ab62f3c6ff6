"""Whether a run measures, or only sees that the benchmarks work."""

import pytest


def is_measuring(config: pytest.Config) -> bool:
    """Whether benchmarks are enabled; `--benchmark-enable` overrides the `--benchmark-disable` of pyproject.toml."""
    return bool(config.getoption("benchmark_enable") or not config.getoption("benchmark_disable"))
