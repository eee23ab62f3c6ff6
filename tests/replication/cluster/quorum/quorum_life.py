"""A quorum and a follower of its metadata, through whatever happens to both, held to what was committed."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from epoch.filesystem import REAL, FileSystem
from logstore import Log
from logstore.errors import LogStoreError
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.quorum.snapshot_terms import SnapshotTerms
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ImageChanges
from replication.records.metadata.image_publisher import PublishedImage
from replication.records.metadata.records import MetadataRecord
from replication.wire.error_code import ErrorCode
from replication.wire.errors import KafkaError
from tests.replication.cluster.quorum.quorum_leader import QuorumLeader
from tests.replication.records.metadata.histories import History

MANY = 2_000
Event = Callable[["QuorumLife"], None]


class QuorumLife:
    """One scripted leader after the other, and a follower that restarts, dies, and goes on."""

    def __init__(self, chance: random.Random, directory: Path, filesystem: FileSystem = REAL) -> None:
        self.leader = QuorumLeader()
        self.behind: list[QuorumLeader] = []
        """Earlier leaders, as they were then: cut off since, or started anew."""
        self.chance = chance
        self._directory = directory
        self._filesystem = filesystem
        self._history = History(chance)
        self._written = 0
        self._committed: dict[int, tuple[MetadataRecord, ...]] = {}
        """By the offset after each committed batch."""
        self._published = PublishedImage(ClusterImage().frozen())
        self.followed = self.opened()

    # --- the quorum

    def write(self) -> None:
        self._history.go_on(1)
        batch = self._history.records[self._written : self._written + self.chance.randrange(1, 5)]
        if batch:
            self.leader.append(*batch)
            self._written += len(batch)

    def commit(self, high_watermark: int | None = None) -> None:
        self.leader.commit(high_watermark)
        for each in self.leader.log:
            if each.end_offset <= self.leader.high_watermark:
                self._committed[each.end_offset] = each.records

    def commit_some(self) -> None:
        ends = [each.end_offset for each in self.leader.log if each.end_offset > self.leader.high_watermark]
        if ends:
            self.commit(self.chance.choice(ends))

    def another_leads(self) -> None:
        """With all that is committed, and nothing else."""
        self.behind.append(self.leader.as_of_now())
        self.behind[-1].leads = bool(self.chance.randrange(2))
        self.leader.lose_uncommitted()
        self._written = sum(map(len, self._committed.values()))

    def compact(self) -> None:
        if any(each.end_offset <= self.leader.high_watermark for each in self.leader.log):
            self.leader.compact()

    # --- who follows

    def snapshot(self) -> None:
        """Of what the follower has replayed, after which it keeps more or less of what was before."""
        published = self.followed.published
        if published.applied_offset >= 0:
            if self.chance.randrange(2):
                self.log.roll()
            terms, end_offset = self.chance.choice(TERMS), published.applied_offset + 1
            local = self.followed._local
            local.take_snapshot(published.image, end_offset, published.epoch, terms)
            # What was before the log is in a snapshot, as far as it goes.
            assert self.log.log_start_offset in {0, *(each.end_offset for each in local.snapshots)}

    def opened(self) -> FollowedMetadata:
        local = LocalMetadata.open(self._directory, self._filesystem)
        try:
            return FollowedMetadata(9, "cluster", local)
        except BaseException:
            local.log.abandon()
            raise

    def step(self) -> None:
        """One question and its answer."""
        try:
            self.followed.take(self.leader.answer(self.followed.request(), self.chance.choice((1, 50, 500, 1 << 20))))
        except KafkaError as error:
            # Another snapshot has replaced the one that was on its way.
            assert error.code is ErrorCode.SNAPSHOT_NOT_FOUND  # noqa: PT017  anything else is a failure
        self.check()

    def steps(self) -> None:
        for _ in range(self.chance.randrange(1, 6)):
            self.step()

    def ask_one_behind(self) -> None:
        """Ask a controller that is behind, and heed it where the follower knows no better."""
        if not self.behind:
            return
        known_epoch = self.followed.standing.leader_epoch
        behind = self.chance.choice(self.behind)
        try:
            self.followed.take(behind.answer(self.followed.request(), self.chance.choice((1, 500))))
        except KafkaError as error:
            assert error.code in {ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.SNAPSHOT_NOT_FOUND}  # noqa: PT017  as above
        assert self.followed.standing.leader_epoch >= known_epoch
        self.check()

    def restart(self) -> None:
        """In order: what was replayed is there again, without a question."""
        before = self.followed.published
        self.followed.close()
        self.followed = self.opened()
        assert self.followed.applied_offset == before.applied_offset
        assert self.followed.image == before.image
        self.check()

    def die(self) -> None:
        """Without a word; the system keeps what was written."""
        self.abandon()
        self.followed = self.opened()
        self.check()

    def use(self, filesystem: FileSystem) -> None:
        """Open the copy, which is closed, on another disk; where that fails at once, on the one before."""
        before, self._filesystem = self._filesystem, filesystem
        try:
            self.followed = self.opened()
        except (OSError, LogStoreError):
            self._filesystem = before
            self.followed = self.opened()

    def recover(self, event: Event) -> None:
        """Go on after an error in an event: with the same follower, if that may be, or one that is opened anew."""
        if event is not QuorumLife.steps or self.log.failure is not None or self.chance.randrange(2):
            self.die()

    def abandon(self) -> None:
        with suppress(OSError, LogStoreError):
            self.log.abandon()

    def catch_up(self) -> None:
        """Commit all, and ask until all is replayed."""
        self.commit()
        for _ in range(MANY):
            self.step()
            if self.followed.applied_offset + 1 == self.leader.high_watermark:
                return
        raise AssertionError(f"at {self.followed.applied_offset} after many questions")

    # --- what must hold

    @property
    def log(self) -> Log:
        return self.followed._local.log

    def check(self) -> None:
        """What is published is committed, whole, and what has changed since was said."""
        before, now = self._published, self.followed.published
        if now is before:
            return
        assert now.applied_offset < self.leader.high_watermark
        assert now.image == self.image_at(now.applied_offset)
        if now.applied_offset > before.applied_offset:
            assert ImageChanges.between(before.image, now.image).partitions <= now.changes.partitions
        self._published = now

    def image_at(self, applied_offset: int) -> ClusterImage:
        """What the committed records up to an offset give."""
        image = ClusterImage()
        for end_offset, records in sorted(self._committed.items()):
            if end_offset <= applied_offset + 1:
                image.replay_all(records)
        return image

    def check_log(self) -> None:
        """The copy has the leader's batches, byte for byte, in its epochs."""
        ours = b""
        offset = self.log.log_start_offset
        while view := self.log.read(offset, 1 << 20):
            ours += bytes(view.data)
            offset = view.next_offset
        start = self.log.log_start_offset
        kept = [each for each in self.leader.log if each.base_offset >= start]
        assert ours.endswith(b"".join(each.data for each in kept))
        for each in kept:
            assert self.log.epochs.epoch_for_offset(each.base_offset) == each.epoch


TERMS: tuple[SnapshotTerms | None, ...] = (
    None,
    SnapshotTerms(retention_bytes=-1, retention_ms=-1),
    SnapshotTerms(retention_bytes=2_000, retention_ms=-1),
    SnapshotTerms(retention_bytes=-1, retention_ms=0),
)
EVENTS: tuple[Event, ...] = (
    QuorumLife.write,
    QuorumLife.write,
    QuorumLife.write,
    QuorumLife.commit_some,
    QuorumLife.commit_some,
    QuorumLife.another_leads,
    QuorumLife.compact,
    QuorumLife.snapshot,
    QuorumLife.steps,
    QuorumLife.steps,
    QuorumLife.steps,
    QuorumLife.steps,
    QuorumLife.ask_one_behind,
    QuorumLife.restart,
    QuorumLife.die,
)
