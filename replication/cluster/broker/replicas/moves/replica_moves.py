"""Which replicas are to lie in another directory of their broker, and the thread that copies them (KIP-113)."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Final

from epoch.base.resource_limits import ResourceLimitError
from logstore import Log, LogStoreError, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.log.state.waiters import ThreadWaiter
from replication.base.clock import monotonic_ms
from replication.cluster.broker.partitions.future_replica import FutureReplica
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.replicas.moves.replica_move import ReplicaMove
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.cluster.worker_thread import WorkerThread
from replication.wire.error_code import ErrorCode

_log: Final = logging.getLogger(__name__)
_IDLE_SECONDS: Final = 0.5
"""Between two looks at copies that have caught up, or could not be written; appends wake it earlier."""
_STEP_ERRORS: Final = (LogStoreError, OSError)


class ReplicaMoves(WorkerThread):
    """Asked by any thread, and copies by its own. Who switches to a copy does so within `held`.

    A directory that is asked for before the partition is here is remembered, until the broker ends.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        directories: LogDirectories,
        is_known: Callable[[TopicPartition], bool],
        wake: Callable[[], None],
        throttle: Throttle | None = None,
    ) -> None:
        """Move nothing yet. `is_known` is whether the cluster has such a partition, here or elsewhere.

        `wake` is called when a copy has caught up, and when a move is given up. `throttle` holds copies up that lag.
        """
        super().__init__("replica-moves")
        self._hosted: Final = hosted
        self._directories: Final = directories
        self._roots: Final = {str(root.root): root for root in directories.roots}
        self._is_known: Final = is_known
        self._wake_broker: Final = wake
        self._throttle: Final = Throttle(None) if throttle is None else throttle
        self._waiter: Final = ThreadWaiter()
        self._wanted: Final[dict[TopicPartition, LogDirectory]] = {}
        self._moves: Final[dict[TopicPartition, ReplicaMove]] = {}
        self._working: Final = RLock()
        """Held while a copy is written or changed."""
        self._is_started = False

    # --- what any thread asks

    def ask(self, partition: TopicPartition, path: str) -> ErrorCode:
        """Want a partition in the entry of log.dirs with this path; return what AlterReplicaLogDirs answers.

        Kafka: alterReplicaLogDirs.
        """
        root = self._roots.get(path)
        if root is None:
            is_offline = Path(path) in self._directories.offline
            return ErrorCode.KAFKA_STORAGE_ERROR if is_offline else ErrorCode.LOG_DIR_NOT_FOUND
        if root.failure is not None or partition in self._hosted.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        self.want(partition, root)
        if partition in self._hosted:
            return ErrorCode.NONE
        return ErrorCode.REPLICA_NOT_AVAILABLE if self._is_known(partition) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def want(self, partition: TopicPartition, root: LogDirectory) -> None:
        """Want a partition in a directory, and in no other that was wanted before."""
        self._wanted[partition] = root
        self.begin()
        self._waiter.wake()

    def wanted(self, partition: TopicPartition) -> LogDirectory | None:
        """Return where a partition is wanted, as long as it is not there."""
        return self._wanted.get(partition)

    def described(self) -> list[FutureReplica]:
        """Return what is reported of the copies."""
        told = []
        for partition, move in list(self._moves.items()):
            hosted = self._hosted.get(partition)
            told.append(move.described(0 if hosted is None else hosted.log.log_end_offset))
        return [each for each in told if each is not None]

    # --- what the replica manager does

    def begin(self) -> None:
        """Copy by a thread from the first move that is wanted on, once the process may have one more."""
        with self._working:
            if self._is_started or self.stopped or not self._wanted:
                return
            try:
                self.start()
            except ResourceLimitError as error:
                _log.warning("no replica is copied to another directory yet: %s", error)
                return
            self._is_started = True

    def caught_up(self) -> list[ReplicaMove]:
        """Return the moves whose copies have caught up."""
        return [move for move in list(self._moves.values()) if move.is_caught_up]

    @contextmanager
    def held(self, move: ReplicaMove) -> Iterator[bool]:
        """Keep the copy of a move from being written within; gives whether the move is still wanted."""
        with self._working:
            yield self._moves.get(move.partition) is move and self._wanted.get(move.partition) is move.target

    def done(self, move: ReplicaMove) -> None:
        """Note that a copy has taken its log's place."""
        with self._working:
            self._moves.pop(move.partition, None)
            if self._wanted.get(move.partition) is move.target:
                del self._wanted[move.partition]

    def drop(self, partition: TopicPartition, *, is_deleted: bool = False) -> None:
        """Copy a partition no more: it is not served here; of one that is deleted the copy is removed."""
        self._wanted.pop(partition, None)
        with self._working:
            move = self._moves.pop(partition, None)
            if move is not None and is_deleted:
                move.give_up()

    # --- its thread

    def _wake(self) -> None:
        self._waiter.wake()

    def _round(self) -> None:
        is_behind = False
        for partition, root in list(self._wanted.items()):
            hosted = self._hosted.get(partition)
            if hosted is not None and isinstance(hosted.log, Log):
                is_behind |= self._move_on(partition, root, hosted, hosted.log)
        if not is_behind:
            self._waiter.wait(_IDLE_SECONDS)

    def _move_on(self, partition: TopicPartition, root: LogDirectory, hosted: HostedPartition, source: Log) -> bool:
        """Do a step of a move; return whether another one is due at once."""
        with self._working:
            move = self._move(partition, root, hosted)
            if move is None or self.stopped:
                source.leave(self._waiter)
                return False
            was_caught_up = move.is_caught_up
            if not was_caught_up and self._throttle.is_exceeded(monotonic_ms()):
                return False
            try:
                source.attend(self._waiter)
                is_behind = move.step(source)
            except _STEP_ERRORS as error:
                self._note(move, error)
                return False
            move.failure = ""
            self._throttle.record(partition, move.copied, monotonic_ms())
        if move.is_caught_up and not was_caught_up:
            self._wake_broker()
        return is_behind

    def _move(self, partition: TopicPartition, root: LogDirectory, hosted: HostedPartition) -> ReplicaMove | None:
        """Return the move to a directory, in place of one to another; None where the partition is there already."""
        move = self._moves.get(partition)
        if move is not None and (move.target is not root or move.topic_id != hosted.topic_id):
            del self._moves[partition]
            move.give_up()
            move = None
        if hosted.root == str(root.root) or hosted.topic_id is None:
            if self._wanted.get(partition) is root:
                del self._wanted[partition]
            self._wake_broker()
            return None
        if move is None:
            move = self._moves[partition] = ReplicaMove(partition, hosted.topic_id, root)
        return move

    def _note(self, move: ReplicaMove, error: Exception) -> None:
        """Note that a step has failed: the next may succeed, unless the directory is offline by now."""
        move.is_caught_up = False
        if move.failure != str(error):
            _log.warning("%s cannot be copied to %s for now: %s", move.partition, move.target.root, error)
        move.failure = str(error)
        if move.target.failure is not None:
            self._moves.pop(move.partition, None)
            self._wanted.pop(move.partition, None)
