"""All that `python -m bench.scaling` measures, once and small; nothing is measured here."""

from shutil import rmtree

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.results import OURS
from bench.room import require_room
from bench.scaling import audits
from bench.scaling.__main__ import all_curves
from bench.scaling.curve import WORK, Curve

CURVES = {curve.name: curve for curve in all_curves(quick=True) if curve not in audits.CURVES}


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
def bench_curve(benchmark: BenchmarkFixture, curve: Curve) -> None:
    scale = curve.quick[-1] if benchmark.disabled else curve.quick[0]
    require_room(disk=curve.disk(scale), memory=curve.memory(scale))
    row = benchmark.pedantic(curve.measure, args=(scale, 1), rounds=1)
    assert not row.skipped
    assert (row.group, row.scale) == (curve.name, scale)
    assert row.times[OURS][0] > 0 < (row.items or row.bytes)
    assert (row.memory > 0) == (curve.weighed is not None)


def bench_clusters_to_audit_are_made_and_removed() -> None:
    """`bench_audit` audits one."""
    [curve] = audits.CURVES
    made = curve.make(curve.quick[0])
    sample = next(made)
    assert sample.bytes == pytest.approx(curve.quick[0], rel=0.1)
    made.close()
    rmtree(WORK)


def bench_curves_have_names_of_their_own() -> None:
    assert len({curve.name for curve in all_curves(quick=False)}) == len(all_curves(quick=False))
    assert all(list(curve.scales) == sorted(set(curve.scales)) for curve in all_curves(quick=False))


def bench_what_there_is_no_room_for_is_skipped_with_the_reason() -> None:
    curve = Curve("huge", (1,), (1,), lambda _: iter(()), disk=lambda _: 1 << 60)
    row = curve.measure(1)
    assert not row.times
    assert "of disk below build/bench are needed" in row.skipped
