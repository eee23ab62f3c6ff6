"""A cluster of one broker whose partitions live at random, a mirror of it, and all that the mirror may hold."""

import os
import random
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from logstore import Log, LogConfig, Record, TopicPartition
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from replication.cluster.fetcher.fetcher_thread import FetcherThread
from replication.cluster.mirror.events import Event
from replication.cluster.mirror.mirror import Mirror
from replication.cluster.mirror.mirror_settings import MirrorSettings
from tests.replication.cluster.fetcher.drive import batches
from tests.replication.cluster.mirror.wire_leader import WireLeader

TOPIC = "orders"
CONFIG = LogConfig(segment_bytes=2_000, segment_index_bytes=4_096, index_interval_bytes=200, retention_ms=-1)
NOW = 1_700_000_000_000
MOST_PARTITIONS = 3
ROUNDS = 500
"""More of them count as standing still."""

Batches = dict[int, bytes]


class Life:
    """The leader's logs and their mirror. Where the mirror is `driven`, it has no threads: `step` does their work."""

    def __init__(self, root: Path, rng: random.Random, leader: WireLeader, *, driven: bool) -> None:
        self.rng, self.leader, self.driven = rng, leader, driven
        self.root = root
        self.copy = root / "copy"
        self.events: list[Event] = []
        self.settings = MirrorSettings(
            bootstrap=leader.bootstrap,
            topics=(TOPIC,),
            log_dir=self.copy,
            keep_truncated=root / "kept",
            metadata_max_age_ms=0,
            patience_ms=0,
        )
        self.mirror: Mirror | None = None
        self.logs: dict[TopicPartition, Log] = {}
        self.epochs: dict[TopicPartition, int] = {}
        self._written: dict[TopicPartition, set[tuple[int, bytes]]] = defaultdict(set)
        """All that any leader has ever written."""
        self._copied: dict[TopicPartition, Batches] = {}
        """What the mirror was seen to hold last."""
        self._lives = 0
        self.add_partition()

    # --- the cluster

    def happen(self) -> None:
        """Let something happen to a partition."""
        partition = self.rng.choice(list(self.logs))
        with self.leader.held:
            happening = self.rng.choices(
                [self.write, self.elect, self.delete, self.overtake, self.hang_up], [8, 2, 1, 1, 1]
            )[0]
            happening(partition)
            if len(self.logs) < MOST_PARTITIONS and self.rng.random() < 0.1:
                self.add_partition()

    def add_partition(self) -> None:
        partition = TopicPartition(TOPIC, len(self.logs))
        self.epochs[partition] = 0
        self._lead(partition, self._new_log(partition))
        self.write(partition)

    def write(self, partition: TopicPartition) -> None:
        log = self.logs[partition]
        for _ in range(self.rng.randrange(1, 6)):
            size = self.rng.choice([20, 90, 400])
            records = [Record.of(self.rng.randbytes(size), timestamp=NOW) for _ in range(self.rng.randrange(1, 4))]
            log.append(records, leader_epoch=self.epochs[partition])
        self._commit(partition)

    def elect(self, partition: TopicPartition) -> None:
        """Let another replica lead: one that lacks some of what was written, at times."""
        before = self.logs[partition]
        log = self._new_log(partition)
        held = batches(before, before.log_start_offset, before.log_end_offset)
        lacks = self.rng.randrange(len(held) + 1) if held and self.rng.random() < 0.6 else 0
        if held:
            log.truncate_fully_and_start_at(held[0][0])
        for _, data in held[: len(held) - lacks]:
            log.append_batches(data)
        if not held:
            log.truncate_fully_and_start_at(before.log_end_offset)
        self.epochs[partition] += 1
        self._lead(partition, log)
        self.write(partition)
        if before.log_start_offset > log.log_start_offset:
            log.delete_records(min(before.log_start_offset, log.high_watermark))
        if self.rng.random() < 0.5:
            self.leader.broker += 1
        before.close()

    def delete(self, partition: TopicPartition) -> None:
        log = self.logs[partition]
        log.delete_records(self.rng.randrange(log.log_start_offset, log.high_watermark + 1))
        self.write(partition)

    def overtake(self, partition: TopicPartition) -> None:
        """Write and delete more than a mirror may have seen."""
        log = self.logs[partition]
        for _ in range(3):
            self.write(partition)
        log.delete_records(log.high_watermark)
        log.delete_old_segments()
        self.write(partition)

    def hang_up(self, _: TopicPartition) -> None:
        self.leader.hang_up()

    def _new_log(self, partition: TopicPartition) -> Log:
        self._lives += 1
        directory = self.root / f"leader-{self._lives}"
        directory.mkdir()
        return Log.open(directory / str(partition), CONFIG, replicated=True)

    def _lead(self, partition: TopicPartition, log: Log) -> None:
        self.logs[partition] = log
        self.leader.lead(partition, log, self.epochs[partition])

    def _commit(self, partition: TopicPartition) -> None:
        log = self.logs[partition]
        log.update_high_watermark(log.log_end_offset)
        self._written[partition].update(batches(log, log.log_start_offset, log.log_end_offset))

    # --- the mirror

    def open(self) -> None:
        self.mirror = Mirror.open(self.settings, self.events.append)

    @property
    def opened(self) -> Mirror:
        assert self.mirror is not None
        return self.mirror

    @property
    def is_usable(self) -> bool:
        """Whether all that the mirror says of itself is that it goes on."""
        return not self.opened.failed and self.opened._directory.failure is None

    def threads(self) -> list[FetcherThread]:
        """The fetchers' threads that have something to follow."""
        threads = [*self.opened._manager._threads.values()]
        return [each for each in threads if any(state.is_active for state in each.fetcher.states.values())]

    def look(self) -> None:
        """Take each lock that others take, and see how the mirror stands."""
        mirror = self.opened
        mirror.statuses()
        mirror.has_nothing_left()
        for thread in [*mirror._manager._threads.values()]:
            with thread.fetching():
                pass
        mirror._manager.doubts.wake()
        mirror._manager.forget(TopicPartition("of nobody", 0))
        mirror._tracker.forget(TopicPartition("of nobody", 0))
        mirror._directory.checkpoint()

    def catch_up(self) -> None:
        """Let the mirror go on until it holds what the leader holds, which it must come to by itself."""
        for _ in range(ROUNDS if self.driven else 10 * ROUNDS):
            mirror = self.opened
            mirror.look_after()
            if self.driven:
                for thread in self.threads():
                    thread._step()
            else:
                time.sleep(0.002)
            assert not mirror.failed, mirror.failed
            if all(self.is_copied(partition) for partition in self.logs):
                return
        raise AssertionError(f"it stands still: {self.opened.statuses()}")

    def is_copied(self, partition: TopicPartition) -> bool:
        log, copy = self.logs[partition], self.opened._logs.get(partition)
        if copy is None or copy.log_end_offset != log.high_watermark or copy.high_watermark != log.high_watermark:
            return False
        start = max(log.log_start_offset, copy.log_start_offset)
        end = log.high_watermark
        if batches(copy, start, end) != batches(log, start, end):
            return False
        return list(copy.epochs.entries_in_range(start, end)) == list(log.epochs.entries_in_range(start, end))

    # --- what must hold at any time

    def check(self) -> None:
        """Nothing is stored that no leader wrote; what the leader still has is still there; what was cut is kept."""
        kept = None
        for partition, copy in self.opened._logs.items():
            if copy.failure is not None or self.opened._directory.failure is not None:
                continue
            found = dict(batches(copy, copy.log_start_offset, copy.log_end_offset))
            assert found.items() <= self._written[partition], f"{partition}: stored, and never written"
            assert copy.high_watermark <= copy.log_end_offset
            log = self.logs[partition]
            theirs = dict(batches(log, log.log_start_offset, log.high_watermark))
            for offset, data in self._copied.get(partition, {}).items():
                if offset < copy.log_start_offset or found.get(offset) == data:
                    continue
                assert theirs.get(offset) != data, f"{partition}: what the leader has at {offset} is gone"
                kept = self._kept() if kept is None else kept
                assert data in kept[partition], f"{partition}: what was cut at {offset} is not kept"
            self._copied[partition] = found

    def _kept(self) -> dict[TopicPartition, bytes]:
        return {
            partition: b"\0\0".join(path.read_bytes() for path in (self.root / "kept" / str(partition)).glob("*.log"))
            for partition in self.logs
        }

    def verify(self) -> None:
        """See that the copy, which nobody has open, is sound."""
        found = [each for each in verify(open_offline(self.copy)) if each.severity.needs_attention]
        assert found == [], found

    # --- what is left when it is closed

    def left_behind(self) -> list[str]:
        """Threads, files and connections of the mirror."""
        threads = [each.name for each in threading.enumerate() if each.name.startswith(("fetcher-", "leader-tracker"))]
        threads += [each.name for each in threading.enumerate() if each.name == f"epochlog {self.copy.name}"]
        return [*threads, *self._open_files(), *self._connections()]

    def is_file(self, left: str) -> bool:
        return left.startswith(str(self.copy))

    def _open_files(self) -> Iterator[str]:
        for entry in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                target = str(entry.readlink())
                if self.is_file(target):
                    yield target

    def _connections(self) -> Iterator[str]:
        """The ends of ours: those whose other end is the leader's port."""
        for entry in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if str(entry.readlink()).startswith("socket:"):
                    with closing(socket.socket(fileno=os.dup(int(entry.name)))) as stream:
                        if stream.getpeername()[1] == self.leader.address.port:
                            yield f"a connection to {stream.getpeername()}"

    def calls(self) -> dict[str, tuple[Callable[[], object], int]]:
        """What can be called now, and how often it is."""
        if self.mirror is None:
            return {"open": (self.open, 1)}
        mirror = self.mirror
        driven: dict[str, tuple[Callable[[], object], int]] = {}
        if self.driven:
            driven["refresh"] = (mirror._tracker.try_refresh, 4)
            if threads := self.threads():
                driven["step"] = (self.rng.choice(threads)._step, 30)
        return {
            "look_after": (mirror.look_after, 6),
            "statuses": (mirror.statuses, 1),
            "failed": (lambda: mirror.failed, 1),
            "has_caught_up": (mirror.has_caught_up, 1),
            "has_nothing_left": (mirror.has_nothing_left, 1),
            "close": (mirror.close, 3),
            "leave a with block": (lambda: mirror.__exit__(None, None, None), 1),
            **driven,
        }
