"""Killed at any moment while it writes, and started again until it is done: nothing twice, nothing left out."""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.salvage import plan_salvage
from tests.campaign import Campaign
from tests.oracle.broker import Broker
from tests.oracle.release import KafkaRelease
from tests.replication.copies.salvage.cluster.target import Target
from tests.replication.copies.salvage.history import History
from tests.replication.copies.salvage.test_random_histories import check_order

KILLS = Campaign("salvage: killed while it writes to a cluster", full=200, share=8)
KILLED = -9


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Target]:
    with Broker(tmp_path_factory.mktemp("target"), release) as broker:
        yield Target(broker.address)


def test_nothing_is_there_twice_or_left_out(tmp_path: Path, target: Target, release: KafkaRelease) -> None:
    rng = random.Random(KILLS.seed)
    kills = number = written = 0
    while kills < KILLS.count:
        number += 1
        history = History(rng, tmp_path / str(number), 3, keyed=0.05)
        history.run(steps=400)
        kept = rng.choice(history.roots)
        expected = [record.value for record in plan_salvage(history.roots, kept.name, topics=["t"]).records()]
        if len(expected) < 10:
            continue
        topic = target.create(f"killed-{number}")
        begun = [*map(str, (target.address, topic, kept.name))]
        for _ in range(rng.randint(1, 4)):
            kills += killed(rng, begun, history.roots, len(expected)) == KILLED
        assert killed(rng, begun, history.roots, None) == 0
        there = target.values(topic)
        assert Counter(there) == Counter(expected)
        check_order(history, [value or b"" for value in there])
        assert there == expected, "in the order of the plan"
        written += len(there)
    KILLS.report(kills, f"{number} histories, {written:,} records", beside=release)


def killed(rng: random.Random, begun: list[str], roots: list[Path], records: int | None) -> int:
    """Run it, to its end if `records` is None; else it is to die behind one of so many."""
    when = [1_000_000, 0] if records is None else [rng.randrange(records), rng.choice([0, 500, 5_000, 50_000])]
    command = [
        sys.executable,
        "-m",
        "tests.replication.copies.salvage.cluster.killed_production",
        *begun,
        *when,
        *roots,
    ]
    return subprocess.run([*map(str, command)], check=False, timeout=300).returncode
