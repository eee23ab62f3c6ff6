"""What grows is told from what goes up and down."""

import os

import pytest

from tests.replication.cluster.node.joining.soak.process_figures import Figures, ensure_flat, figures_of

STEADY = Figures(memory=200_000, resident=300_000, descriptors=900, threads=40)


def test_what_warms_up_and_then_goes_up_and_down_is_flat() -> None:
    warming = [STEADY._replace(memory=step * 10_000) for step in range(20)]
    ensure_flat([*warming, *(STEADY._replace(memory=200_000 + step % 7 * 2_000) for step in range(60))])


@pytest.mark.parametrize("step", [{"memory": 400}, {"descriptors": 1}, {"threads": 1}], ids=str)
def test_what_grows_with_every_second_is_told(step: dict[str, int]) -> None:
    ((name, growth),) = step.items()
    with pytest.raises(AssertionError, match=name):
        ensure_flat([STEADY._replace(**{name: getattr(STEADY, name) + growth * second}) for second in range(60)])


def test_figures_are_those_of_the_process() -> None:
    told = figures_of(os.getpid())
    assert 0 < told.memory < told.resident
    with open(os.devnull):
        assert figures_of(os.getpid()).descriptors == told.descriptors + 1
