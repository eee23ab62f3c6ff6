"""How long a program takes until it can do anything: imports and commands, each in a process of its own."""

import subprocess
import sys

import pytest
from pytest_benchmark.fixture import BenchmarkFixture


@pytest.mark.parametrize("package", ["epoch", "logstore"])
def bench_import(benchmark: BenchmarkFixture, package: str) -> None:
    """The import alone: Python's own start is not in it."""
    program = f"import time; start = time.perf_counter(); import {package}; print(time.perf_counter() - start)"

    def start() -> float:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return float(done.stdout)

    rounds = 1 if benchmark.disabled else 10
    taken = []
    benchmark.pedantic(lambda: taken.append(start()), rounds=rounds, warmup_rounds=1)
    benchmark.extra_info["import, s"] = taken


@pytest.mark.parametrize("words", [("--help",), ("version",)], ids=" ".join)
def bench_command(benchmark: BenchmarkFixture, words: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "replication.cli", *words]
    rounds = 1 if benchmark.disabled else 10
    done = benchmark.pedantic(
        subprocess.run, (command,), {"capture_output": True, "check": True}, rounds=rounds, warmup_rounds=1
    )
    assert done.stdout
