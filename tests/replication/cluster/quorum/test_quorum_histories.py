"""Whatever happens to a quorum and its follower: what is published was committed, and in the end it is all there."""

import random
from pathlib import Path

from logstore.errors import LogStoreError
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from tests.campaign import Campaign
from tests.crash_states import crash_states, write_state
from tests.disk import FailingDisk, Failure
from tests.recording_disk import RecordingDisk
from tests.replication.cluster.quorum.quorum_life import EVENTS, MANY, QuorumLife

HISTORIES = Campaign("followed metadata: random histories", full=2_000, share=40)
FAILURES = Campaign("followed metadata: failing disks", full=2_000, share=40)
CRASHES = Campaign("followed metadata: lost power", full=400, share=4)


def test_what_is_published_was_committed_and_in_the_end_all_is(memory_dir: Path) -> None:
    for number in range(HISTORIES.count):
        life = QuorumLife(random.Random(f"{HISTORIES.seed} {number}"), memory_dir / str(number))
        for _ in range(40):
            life.chance.choice(EVENTS)(life)
        life.catch_up()
        life.check_log()
        life.restart()
        life.followed.close()
    HISTORIES.report(HISTORIES.count)


def test_a_disk_that_fails_once_costs_nothing_that_was_committed(memory_dir: Path) -> None:
    """After an error the same follower goes on, or one that is opened anew."""
    failed = 0
    for number in range(FAILURES.count):
        chance = random.Random(f"{FAILURES.seed} {number}")
        life = QuorumLife(chance, memory_dir / str(number))
        life.followed.close()
        disk = FailingDisk(chance.randrange(1, 120), chance.choice(list(Failure)))
        life.use(disk)
        for _ in range(30):
            event = chance.choice(EVENTS)
            try:
                event(life)
            except (OSError, LogStoreError):
                failed += 1
                life.recover(event)
        disk.steps_left = 0
        life.catch_up()
        life.check_log()
        life.followed.close()
    assert failed
    FAILURES.report(FAILURES.count, f"{failed:,} errors")


def test_after_lost_power_only_what_was_committed_is_there_and_the_rest_is_fetched(memory_dir: Path) -> None:
    opened = 0
    for number in range(CRASHES.count):
        chance = random.Random(f"{CRASHES.seed} {number}")
        root, disk = memory_dir / str(number), RecordingDisk()
        root.mkdir()
        life = QuorumLife(chance, root / "copy", disk)
        for _ in range(25):
            chance.choice(EVENTS)(life)
        life.commit()
        life.abandon()
        states = list(crash_states(disk.steps, root))
        for each, (_, state) in enumerate(chance.sample(states, min(len(states), 40))):
            crashed = memory_dir / f"{number}-{each}"
            crashed.mkdir()
            write_state(state, crashed)
            _check_after_crash(life, crashed)
            opened += 1
    CRASHES.report(CRASHES.count, f"{opened:,} states")


def _check_after_crash(life: QuorumLife, root: Path) -> None:
    with FollowedMetadata.open(9, "cluster", root / "copy") as followed:
        assert followed.applied_offset < life.leader.high_watermark
        assert followed.image == life.image_at(followed.applied_offset)
        for _ in range(MANY):
            followed.take(life.leader.answer(followed.request()))
            if followed.applied_offset + 1 == life.leader.high_watermark:
                break
        assert followed.image == life.leader.image()
