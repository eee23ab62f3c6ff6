"""How fast the whole command `dump` is; `python -m bench.peer` has Kafka's own tool beside it."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_verify import measure_command, size
from bench.replica import log


@pytest.mark.parametrize(
    "options", [(), ("--records",), ("--records", "--json")], ids=["batches", "records", "records as JSON"]
)
def bench_dump(benchmark: BenchmarkFixture, options: tuple[str, ...]) -> None:
    measure_command(benchmark, "dump", *options, log(size(benchmark)))
