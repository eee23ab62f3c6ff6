"""What a follower of the quorum does to its log is what Kafka's own KafkaRaftLog does, on logs of random quorums."""

import random
import shutil
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from logstore.offline.partition_directory import PartitionDirectory
from replication.base.errors import CannotFollowError
from replication.copies.planning.metadata_plan import plan_metadata
from replication.copies.planning.raft_log import LogPosition, RaftLog
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.copies.quorum_recovery.raft_simulation import Quorum
from tests.replication.copies.quorum_recovery.written_logs import write_node, write_snapshot_name

QUORUMS = Campaign("quorum: logs against Kafka", full=300, share=5)
PAIRS = 3
"""Of leaders and followers, in each quorum."""
OFTEN = 50
"""Of so many quorums one has a follower that needs a snapshot."""


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "RaftLogOracle") as program:
        yield program


def loaded(directory: Path) -> RaftLog:
    return RaftLog.load(PartitionDirectory.open(directory))


def told(position: LogPosition | None) -> str:
    return "none" if position is None else f"{position.epoch}:{position.end_offset}"


def state(log: RaftLog) -> str:
    ends = (told(log.snapshots[0]), told(log.snapshots[-1])) if log.snapshots else ("none", "none")
    return " ".join((f"{log.start_offset} {log.end_offset} {log.last_epoch}", *ends))


def position(text: str) -> tuple[int, int]:
    epoch, _, end_offset = text.partition(":")
    return int(epoch), int(end_offset)


def followed(kafka: JavaProgram, leader: Path, follower: Path, epoch: int) -> tuple[list[tuple[int, int, int]], str]:
    """Have Kafka's logs agree; return what was asked and answered, and how it ended."""
    kafka.ask(f"open leader {leader}", f"open follower {follower}", f"lead leader {epoch}")
    rounds = []
    try:
        while True:
            told_position = kafka.ask("position follower")[0]
            if told_position.startswith("ERR"):
                return rounds, "stuck"
            fetched = position(told_position)
            answer = kafka.ask(f"validate leader {fetched[0]} {fetched[1]}")[0]
            kind, _, end = answer.partition(" ")
            if kind != "diverging":
                return rounds, answer if kind == "snapshot" else f"{kind} {fetched[1]}"
            rounds.append((fetched[0], *position(end)))
            truncated = kafka.ask(f"truncate follower {position(end)[0]} {position(end)[1]}")[0]
            if truncated.startswith("ERR") or int(truncated) >= fetched[1]:
                return rounds, "stuck"
    finally:
        kafka.ask("close leader", "close follower")


def planned(leader: RaftLog, follower: RaftLog) -> tuple[list[tuple[int, int, int]], str] | None:
    try:
        plan = plan_metadata(leader, follower)
    except CannotFollowError:
        return None
    rounds = [(each.requested_epoch, each.answer.epoch, each.answer.end_offset) for each in plan.rounds]
    return rounds, f"valid {plan.truncate_to}" if plan.snapshot is None else f"snapshot {told(plan.snapshot)}"


def test_logs_load_and_follow_as_kafkas(kafka: JavaProgram, tmp_path: Path) -> None:
    snapshots = truncations = stuck = 0
    for number in range(QUORUMS.count):
        chance = random.Random(f"{QUORUMS.seed} {number}")
        quorum = Quorum(chance, chance.choice((3, 5)))
        quorum.run(chance.randrange(20, 250))
        directories = [write_node(tmp_path / str(number) / f"{node.id}", node) for node in quorum.nodes]
        if chance.random() < 0.3:
            # A snapshot that was fetched, and a crash before the log was dropped.
            node = chance.choice(quorum.nodes)
            write_snapshot_name(
                directories[node.id], node.last_epoch + chance.randrange(3), node.end + chance.randrange(9)
            )
        logs = [loaded(directory) for directory in directories]
        for log, directory in zip(logs, directories, strict=True):
            opened = shutil.copytree(directory.parent, tmp_path / "opened") / directory.name
            assert state(log) == kafka.ask(f"open log {opened}")[0], directory
            kafka.ask("close log")
            shutil.rmtree(tmp_path / "opened")
        for one, other in chance.sample(list(permutations(range(len(logs)), 2)), PAIRS):
            led, following = (
                shutil.copytree(directories[each].parent, tmp_path / f"copy-{each}") / directories[each].name
                for each in (one, other)
            )
            epoch = max(logs[one].last_epoch, logs[other].last_epoch) + 1
            expected = followed(kafka, led, following, epoch)
            found = planned(logs[one], logs[other])
            if found is None:
                stuck += 1
                assert expected[1] == "stuck" or is_short(expected[1], logs[other]), (
                    directories[one],
                    directories[other],
                )
            else:
                assert found == expected, (directories[one], directories[other])
                snapshots += found[1].startswith("snapshot")
                truncations += bool(found[0])
            shutil.rmtree(led.parent)
            shutil.rmtree(following.parent)
    assert truncations
    assert snapshots or QUORUMS.count < OFTEN
    note = f"{truncations:,} truncations, {snapshots:,} snapshots, {stuck:,} cannot follow"
    QUORUMS.report(QUORUMS.count, note, beside=kafka.release)


def is_short(outcome: str, follower: RaftLog) -> bool:
    """Whether a snapshot is offered that does not reach beyond the follower's log, which Kafka refuses to take."""
    kind, _, end = outcome.partition(" ")
    return kind == "snapshot" and position(end) <= (follower.last_epoch, follower.end_offset)
