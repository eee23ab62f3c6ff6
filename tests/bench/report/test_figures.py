import pytest

from bench.report.figures import (
    digits,
    duration,
    exactly,
    rate,
    ratio,
    round_duration,
    share,
    short,
    size,
    speed,
    spread,
)
from bench.results import Row


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0123, "0.0123"), (1.234, "1.23"), (9.999, "10.0"), (12.34, "12.3"), (99.96, "100"), (1234.5, "1,234")],
)
def test_figures_have_three_digits_and_no_exponent(value: float, written: str) -> None:
    assert digits(value) == written


@pytest.mark.parametrize(("value", "written"), [(8, "8"), (0.8, "0.8"), (3_333_333, "3,333,333"), (1.25, "1.25")])
def test_an_aim_is_written_as_it_was_given(value: float, written: str) -> None:
    assert exactly(value) == written


@pytest.mark.parametrize(
    ("nanoseconds", "written"),
    [(0.25, "0.25 ns"), (68, "68.0 ns"), (8_100, "8.1 µs"), (1_530_000, "1.53 ms"), (1.2e10, "12.0 s")],
)
def test_a_time_is_in_the_largest_unit_that_it_reaches(nanoseconds: float, written: str) -> None:
    assert duration(nanoseconds) == written


@pytest.mark.parametrize(("value", "written"), [(1, "1"), (1000, "1k"), (100_000, "100k"), (1e6, "1M"), (0.1, "0.1")])
def test_figures_beside_an_axis_are_short(value: float, written: str) -> None:
    assert short(value) == written
    assert round_duration(10_000) == "10 µs"


def test_sizes_are_in_powers_of_two() -> None:
    assert [size(value) for value in (376, 64 << 20, 8 << 30)] == ["376 bytes", "64.0 MiB", "8 GiB"]


def test_rates_ratios_and_shares() -> None:
    assert rate(63.04e6, "records") == "63.0 M records/s"
    assert rate(12, "logs") == "12.0 logs/s"
    assert (ratio(0.684), ratio(12.34)) == ("0.68", "12.3")
    assert share(0.55) == "55 %"
    assert spread([3.0, 1.0, 2.0]) == "1.00 to 3.00"
    assert spread([1.001, 1.002]) == "1.00"
    assert spread([0.5, 0.6], share) == "50 % to 60 %"


def test_small_operations_are_told_by_their_time_large_ones_by_throughput_many_items_by_their_rate() -> None:
    assert speed(Row("append", bytes=16 << 10), 8_000) == "8 µs"
    assert speed(Row("recover", bytes=1 << 30), 1e9) == "1.07 GB/s"
    assert speed(Row("decode", items=1000, unit="records"), 1e6) == "1 M records/s"
    assert speed(Row("look up", items=1, unit="lookups"), 286) == "286 ns"
    assert speed(Row("scan", bytes=1 << 30, items=1000), 1e9) == "1.07 GB/s"
    assert speed(Row("nobody"), None) == ""
