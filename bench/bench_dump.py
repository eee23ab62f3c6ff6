"""How fast the whole command `dump` is, beside Kafka's own tool on the same segment: see bench_verify."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_verify import beside, epochlog, kafka, size
from bench.replica import log


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((), ()), (("--records",), ("--print-data-log",)), (("--records", "--json"), ("--print-data-log",))],
    ids=["batches", "records", "records as JSON"],
)
def bench_dump_beside_kafkas(benchmark: BenchmarkFixture, ours: tuple[str, ...], theirs: tuple[str, ...]) -> None:
    path = log(size(benchmark))
    beside(benchmark, epochlog("dump", *ours, path), kafka(*theirs, "--files", path))
