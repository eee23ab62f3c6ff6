"""Whatever is done to its connections and its process, a mirror becomes its leader's copy in the end."""

from collections.abc import Iterator

import pytest

from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.mirror.schedule import Stage, draw, run

SCHEDULES = Campaign("mirror schedules", full=100, share=2)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("stage"), release) as stage:
        yield stage


def test_a_seed_is_one_schedule() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


def test_all_schedules_end_with_the_leaders_bytes(stage: Stage) -> None:
    for number in range(SCHEDULES.count):
        run(stage, SCHEDULES.seed * SCHEDULES.full + number)
    SCHEDULES.report(SCHEDULES.count, beside=stage.release)
