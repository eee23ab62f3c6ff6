"""A leader that answers nonsense on the wire: nothing of it is stored, no one else suffers, and once it is over all is.

The same follower goes on all the time, as a mirror and as a replica do.
"""

import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest

from logstore import Log, Record, TopicPartition
from replication import Follower
from replication.cluster.fetcher.decisions.fetch_rules import MIRROR_RULES, REPLICA_RULES
from replication.cluster.fetcher.decisions.fetch_state import Phase
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.wire.client.client_settings import ClientSettings
from tests.campaign import Campaign
from tests.replication.cluster.fetcher.drive import batches, open_log
from tests.replication.cluster.mirror.nonsense_leader import (
    ANSWER,
    BAD,
    FOLLOWER,
    GOOD,
    KINDS,
    LATE_SECONDS,
    METADATA,
    NonsenseLeader,
)

STORIES = Campaign("nonsense of a leader on the wire", full=168, share=6)

SECONDS = 120
WRITES = 8
"""How often both partitions are written to while the leader answers nonsense."""
PAUSE_SECONDS = 0.05
REQUESTS = 400
"""The most of all kinds meanwhile: a follower that keeps itself busy sends thousands."""
BYTES = 400 << 20
"""The most memory that is used meanwhile: the largest answers, and what compiled kernels take on their first use."""
CHECKED_FROM = 21
"""From here on a batch's checksum covers it."""
BACK_OFF_MS = 20


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 40


@pytest.fixture
def rng() -> random.Random:
    return random.Random(STORIES.seed)


def test_nonsense_is_not_stored_and_once_it_is_over_the_same_follower_has_all(
    tmp_path: Path, rng: random.Random
) -> None:
    kinds = [(kind, identity) for kind in KINDS for identity in (FetchIdentity(), FetchIdentity(FOLLOWER))]
    rng.shuffle(kinds)
    for number in range(STORIES.count):
        kind, identity = kinds[number % len(kinds)]
        root = tmp_path / str(number)
        with ExitStack() as stack:
            Story(stack, root, kind, identity, rng).play()
        rmtree(root)
    STORIES.report(STORIES.count)


class Story:
    """Two partitions of one leader, and one follower of both."""

    def __init__(self, stack: ExitStack, root: Path, kind: str, identity: FetchIdentity, rng: random.Random) -> None:
        self.kind = kind
        self.told = f"{kind!r} to {'a mirror' if identity.is_mirror else 'a replica'}"
        self.rng = rng
        self.led = {each: stack.enter_context(open_log(root / "leader", each)) for each in (BAD, GOOD)}
        self.logs = {each: stack.enter_context(open_log(root / "follower", each)) for each in (BAD, GOOD)}
        self.leader = stack.enter_context(NonsenseLeader(rng))
        for partition, log in self.led.items():
            for epoch in (0, 1, 2):
                self.write(partition, epoch)
            self.leader.lead(partition, log, 2)
        rules = replace(MIRROR_RULES if identity.is_mirror else REPLICA_RULES, back_off_ms=BACK_OFF_MS)
        settings = FetcherSettings(identity=identity, rules=rules, max_wait_ms=50, max_partition_bytes=3_000)
        patience_ms = int(LATE_SECONDS * 500) if kind == "too late" else 10_000
        client = ClientSettings(request_timeout_ms=patience_ms, connect_timeout_ms=2_000)
        self.follower = Follower(self.leader.bootstrap, BAD, self.logs[BAD], client_settings=client, settings=settings)
        self.follower.follow(GOOD, self.logs[GOOD])

    def write(self, partition: TopicPartition, epoch: int = 2) -> None:
        value = b"%d: %s" % (partition.partition, self.rng.randbytes(self.rng.randint(1, 60)))
        log = self.led[partition]
        log.append([Record.of(value)] * self.rng.randint(1, 3), leader_epoch=epoch)
        log.update_high_watermark(log.log_end_offset)

    def play(self) -> None:
        with self.follower:
            self.follower.catch_up(SECONDS)
            before = resident_bytes()
            self.leader.asked.clear()
            self.leader.kind = self.kind
            if self.kind in METADATA:
                self.leader.hang_up()
            for _ in range(WRITES):
                self.write_both()
                time.sleep(PAUSE_SECONDS)
            assert self.leader.asked.total() <= REQUESTS, (self.told, self.leader.asked)
            assert resident_bytes() - before <= BYTES, self.told
            if self.kind not in ANSWER and self.kind not in METADATA:
                self.wait(lambda: self.is_identical(GOOD))
            self.assert_nothing_forged()
            self.leader.kind = ""
            self.write_both()
            self.wait(lambda: self.is_identical(BAD) and self.is_identical(GOOD))
            self.follower.catch_up(SECONDS)
            assert {state.phase for state in self.follower.states.values()} == {Phase.FETCHING}, self.told

    def write_both(self) -> None:
        with self.leader.held:
            self.write(BAD)
            self.write(GOOD)

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, (self.told, self.follower.states)
            time.sleep(0.02)

    def is_identical(self, partition: TopicPartition) -> bool:
        return everything(self.logs[partition]) == everything(self.led[partition])

    def assert_nothing_forged(self) -> None:
        """Each batch is one that was written, as far as a checksum can tell."""
        for partition, log in self.logs.items():
            written = {batch[CHECKED_FROM:] for _, batch in everything(self.led[partition])}
            assert {batch[CHECKED_FROM:] for _, batch in everything(log)} <= written, self.told


def everything(log: Log) -> list[tuple[int, bytes]]:
    return batches(log, log.log_start_offset, log.log_end_offset)


def resident_bytes() -> int:
    """Of this process; 0 where the system does not tell."""
    told = Path("/proc/self/statm")
    return int(told.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if told.exists() else 0
