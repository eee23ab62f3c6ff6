"""Three real controllers are killed at random: what was committed is in the copy that is recommended, if that is said.

Real controllers start with that copy and tell what it has.
"""

import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from replication.quorum_recovery import QuorumAdvice, advise_quorum, read_copy
from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.copies.quorum_recovery.real_history import RealHistory, allowed_in, counted_in
from tests.replication.copies.quorum_recovery.real_quorum import VOTERS, RealQuorum

CLUSTERS = Campaign("quorum: real controllers", full=60, share=2)
ONE_COPY_EACH = 6
"""In one of so many clusters a single copy is taken, of two in the others."""
OFTEN_SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": 2_000, "metadata.log.segment.ms": 500}
KINDS: Sequence[tuple[bool, Mapping[str, object]]] = (
    (False, {}),
    (True, OFTEN_SNAPSHOTS),
    (False, OFTEN_SNAPSHOTS),
    (True, {}),
)
"""Voters by configuration or in the log, and few or many snapshots."""


@pytest.fixture(scope="module")
def quorums(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[list[RealQuorum]]:
    made = [
        RealQuorum(
            tmp_path_factory.mktemp("quorum"), release, is_dynamic=is_dynamic, has_broker=False, settings=settings
        )
        for is_dynamic, settings in KINDS
    ]
    yield made
    for quorum in made:
        quorum.close()


def advice_on(copies: Sequence[Path]) -> QuorumAdvice:
    return advise_quorum([read_copy(copy) for copy in copies])


def choices_that_mislead(copies: Mapping[int, Path], history: RealHistory) -> int:
    """Check the advice on any of the copies; return of how many the one with the highest end offset lacks something."""
    misleading = 0
    for given in [each for size in (1, 2, 3) for each in combinations(VOTERS, size)]:
        advice = advice_on([copies[node] for node in given])
        assert advice.best is not None, advice
        assert advice.is_complete == (len(given) > 1), advice.doubts
        if advice.is_complete:
            assert history.is_all_in(advice.best.copy.image), (given, advice)
            longest = max(advice.copies, key=lambda each: each.position.end_offset)
            misleading += not history.is_all_in(longest.copy.image)
    return misleading


def test_real_controllers_start_on_the_recommended_copy_and_nothing_committed_is_gone(
    quorums: list[RealQuorum], tmp_path: Path
) -> None:
    seen: Counter[str] = Counter()
    for number in range(CLUSTERS.count):
        chance = random.Random(f"{CLUSTERS.seed} {number}")
        quorum = quorums[(CLUSTERS.seed * CLUSTERS.share + number) % len(quorums)]
        quorum.start_over()
        with quorum:
            history = RealHistory(quorum, chance)
            history.happen(ends_with_a_longer_fork=number % 2 == 0)
        copies = {node: shutil.copytree(quorum.log_dir(node), tmp_path / f"controller-{node}") for node in VOTERS}
        seen["misleading"] += choices_that_mislead(copies, history)

        taken = chance.sample(VOTERS, 1 if number % ONE_COPY_EACH == ONE_COPY_EACH - 1 else 2)
        advice = advice_on([copies[node] for node in taken])
        assert advice.best is not None
        image = advice.best.copy.image
        assert image is not None
        majority = chance.sample(VOTERS, 2)
        quorum.restore(advice.best.copy.path, majority)
        quorum.start_all(majority)
        allowed = history.controllers.allowed()
        of_running = advice_on([quorum.log_dir(node) for node in majority])
        assert of_running.is_complete
        assert of_running.best is not None
        assert of_running.best.copy.image is not None
        assert allowed <= allowed_in(of_running.best.copy.image)
        quorum.close()
        assert allowed == allowed_in(image), "the controllers have another log than the copy"
        for node in majority:
            restored = read_copy(quorum.log_dir(node)).image
            assert restored is not None
            assert counted_in(restored) == counted_in(image)

        is_all_there = history.controllers.acknowledged <= allowed and history.is_all_in(image)
        assert is_all_there or not advice.is_complete
        seen["complete" if advice.is_complete else "all in one copy" if is_all_there else "something in none"] += 1
        for copy in copies.values():
            shutil.rmtree(copy)
    assert seen["misleading"], "the highest end offset alone is never wrong"
    CLUSTERS.report(
        CLUSTERS.count,
        f"nothing gone with one of two copies, {seen['complete']} times, nor with the only copy, "
        f"{seen['all in one copy']} times; something gone with the only copy, {seen['something in none']} times; the "
        f"highest end offset wrong in {seen['misleading']} of {CLUSTERS.count * 4} choices among two or three copies",
        beside=quorums[0].release,
    )
