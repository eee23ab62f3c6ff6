"""Makes of a broker's logs what the metadata says of them: led, followed, or deleted (Kafka: ReplicaManager)."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID

from logstore import Log, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.errors import OfflineDirectoryError
from logstore.log.readable_log import ReadableLog
from replication.cluster.broker.events.partition_events import PartitionEvent
from replication.cluster.broker.partitions.broker_traffic import BrokerTraffic
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.partitions.isr_changes import IsrChanges
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.partitions.throttled_replicas import ReplicaThrottles
from replication.cluster.broker.replicas.beginnings import Beginning, Beginnings
from replication.cluster.broker.replicas.broker_view import BrokerView
from replication.cluster.broker.replicas.damage.read_damages import VERIFY_INTERVAL_MS, ReadDamages
from replication.cluster.broker.replicas.moves.replica_moves import ReplicaMoves
from replication.cluster.broker.replicas.moves.unfinished_moves import UnfinishedMoves
from replication.cluster.broker.replicas.partition_errors import PARTITION_ERRORS
from replication.cluster.broker.replicas.partition_roles import PartitionRoles
from replication.cluster.broker.replicas.passing_failures import PassingFailures, is_torn
from replication.cluster.broker.replicas.replica_logs import ReplicaLogs
from replication.cluster.broker.replicas.replica_places import ReplicaPlaces
from replication.cluster.broker.replicas.replica_switch import ReplicaSwitch
from replication.cluster.broker.replicas.strays import set_strays_aside
from replication.cluster.broker.replicas.told_settings import ToldSettings
from replication.cluster.broker.replicas.topic_settings import TopicSettings
from replication.cluster.broker.replicas.vanished_replicas import note_vanished
from replication.cluster.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ImageChanges, PartitionId
from replication.records.metadata.partition import PartitionRegistration

_log: Final = logging.getLogger(__name__)
_NOBODY: Final = TopicPartition("", -1)


class ReplicaManager:
    """Applies what has changed of the metadata, partition by partition. One thread calls it, but for `led`.

    Each log has one owner: before a partition is led its fetcher has let go of it, and before it is followed its
    leader appends nothing more.
    """

    def __init__(
        self,
        broker_id: int,
        directories: LogDirectories,
        fetchers: FetcherManager,
        isr_changes: IsrChanges,
        settings: TopicSettings,
        *,
        directory_ids: Mapping[UUID, LogDirectory],
        broker_epoch: Callable[[], int],
        listener: str,
        clock: Callable[[], int],
        wake: Callable[[], None] = lambda: None,
        throttles: ReplicaThrottles | None = None,
        tell: Callable[[PartitionEvent], object] = lambda _: None,
        traffic: BrokerTraffic | None = None,
        remakes_only: bool = True,
        accepted_losses: Collection[TopicPartition] = (),
        verify_interval_ms: int = VERIFY_INTERVAL_MS,
    ) -> None:
        """Serve nothing yet. Leaders are followed by their `listener`; `clock` gives milliseconds.

        `wake` is called when `move_on` has something to do. `throttles` hears of the settings that concern it, `tell`
        of roles and ISRs, in any thread, and must return quickly; `traffic` counts what is appended and sent.

        `verify_interval_ms` is for how long a check of what is sent counts.

        `broker_epoch` is that of the registration of this start: metadata that knows it is no older than the start.
        `remakes_only` lets the only replica of a partition begin anew where its directory is gone. The replicas in
        `accepted_losses` may lead with what they have, though it is less than the checkpoint files said of them.
        """
        self.hosted: Final = HostedPartitions()
        """What requests are answered from."""
        self._tell: Final = tell
        self._traffic: Final = BrokerTraffic() if traffic is None else traffic
        self._roles: Final = PartitionRoles(tell)
        self._damages: Final = ReadDamages(tell)
        self._verify_interval_ms: Final = verify_interval_ms
        self._broker_id: Final = broker_id
        self._directories: Final = directories
        self._directory_ids: Final = directory_ids
        self._has_sorted_out = False
        self._fetchers: Final = fetchers
        self._isr_changes: Final = isr_changes
        self._settings: Final = settings
        self._throttles: Final = throttles
        self._told_settings: Final = ToldSettings(broker_id)
        self._clock: Final = clock
        self._passing: Final = PassingFailures(clock)
        self._view: Final = BrokerView(broker_id, broker_epoch, listener)
        self._names: Final[dict[PartitionId, TopicPartition]] = {}
        """Of the partitions that are this broker's."""
        self._given_up: Final[dict[PartitionId, TopicPartition]] = {}
        """Of those that are offline, some of which never had a log here."""
        self._beginnings: Final = Beginnings()
        self._new: frozenset[PartitionId] = frozenset()
        """Those of which nothing is here yet, by the image before."""
        self._places: Final = ReplicaPlaces(directories, directory_ids)
        self.unassigned: Final = self._places.unassigned
        """In which directories replicas lie of which the metadata does not say it yet; who has told the controller, in
        any thread, takes them out."""
        self.moves: Final = ReplicaMoves(
            self.hosted, directories, self._view.is_known, wake, None if throttles is None else throttles.moves
        )
        """From one directory to another."""
        self._logs: Final = ReplicaLogs(
            broker_id,
            directories,
            self._places,
            tell,
            address_of=self._view.address,
            unclean_allowed=lambda topic: settings.unclean_allowed(self._view.image, topic),
            remakes_only=remakes_only,
            accepted_losses=accepted_losses,
        )
        self.damaged_ranges: Final = self._logs.ranges
        """What leaders are to be asked for: whoever does that calls `take_answers` afterwards."""
        for root in directory_ids.values():
            root.hold_back_checkpoints()  # until the metadata says what they lack: see `note_vanished`
        self._switch: Final = ReplicaSwitch(self.moves, self._places, fetchers, self._serve_again)

    def apply(self, image: ClusterImage, changes: ImageChanges) -> None:
        """Apply an image and its changes. Errors of single partitions are not raised.

        Raises DuplicatePartitionError where two roots hold the same partition of this broker's.
        """
        # What an image adds that may be older than this start may have a log here.
        is_known, had_directories = self._view.knows_this_start, self._view.has_directories
        self._new = frozenset(each for each in changes.partitions if is_known and not self._view.has_replica(each))
        self._view.image = image
        self._told_settings.take(image, changes.configurations)
        if self._throttles is not None:  # before new replicas are followed
            self._throttles.take(image, changes.configurations)
            if changes.configurations:
                self._fetchers.look_again()
        others = self._view.followed_from(changes.brokers, self._names) | self._sort_out()
        changed = changes.partitions | others
        kept = frozenset(filter(self._view.has_replica, changed))
        # Deletions first: a topic may have been made again under the same name.
        for each in changed - kept:
            self._try(each)
        self._make_new_logs(kept)
        for each in kept:
            self._try(each)
        if self._view.has_directories and not had_directories:
            self._note_places(self._names)
        self._begin_to_lead()
        for resource in changes.configurations:
            if resource.type == ConfigResourceType.TOPIC:
                self._configure({resource.name})
            elif resource.type == ConfigResourceType.BROKER:
                self._configure({partition.topic for partition in self.hosted})

    def led(self, topic_id: UUID, number: int) -> LedPartition | None:
        """Return a partition that is led here, by its topic's id; None where it is not. Any thread may ask."""
        partition = self._names.get(PartitionId(topic_id, number))
        hosted = None if partition is None else self.hosted.get(partition)
        return None if hosted is None else hosted.led

    def check_lag(self) -> None:
        """Shrink the ISRs by followers that have fallen behind (Kafka: maybeShrinkIsr)."""
        for hosted in tuple(self.hosted.values()):
            if hosted.led is not None:
                hosted.led.check_lag()

    def notice_failures(self) -> frozenset[UUID]:
        """Mark replicas on failed disks offline; return the ids of all directories that have failed."""
        failed = {root.root: root.failure for root in self._directories.roots if root.failure is not None}
        for changed, partition in list(self._names.items()) if failed else ():
            hosted = self.hosted.get(partition)
            if hosted is None or (root := hosted.log.directory.parent) not in failed:
                continue
            self._give_up(changed, _disk_failed(root, failed[root]))
            state = self._view.state(changed)
            if state is not None:
                self._places.note_failed(changed, root, self._view.directory_of(state))
        return self._places.failed()

    def move_on(self) -> None:
        """Replace logs by copies that have caught up, once the metadata says that they are to lie there."""
        self._note_places(self._places.ahead)
        self.moves.begin()
        for move in self.moves.caught_up():
            changed = PartitionId(move.topic_id, move.partition.partition)
            state, hosted = self._view.state(changed), self.hosted.get(move.partition)
            if state is None or hosted is None or hosted.topic_id != move.topic_id:
                continue
            if self._places.may_switch(changed, move.target.root, self._view.directory_of(state)):
                self._switch.make(changed, move, hosted)

    def retry(self) -> None:
        """Serve what a full disk has kept from being served, if there is room by now: logs that it tore are recovered.

        Such logs refuse writes from then on; Kafka takes their whole directory offline.
        """
        if not self._passing.is_due():
            return
        torn = [changed for changed, each in self._names.items() if self._is_torn(each)]
        for changed in dict.fromkeys([*torn, *self._passing.take()]):
            try:
                self._stop(self._names.get(changed, _NOBODY))
                self._apply(changed)
            except PARTITION_ERRORS as error:
                self._give_up(changed, error)
        self._begin_to_lead()

    def take_answers(self) -> None:
        """Cut damaged logs, and serve them, of which by now their leaders have said that they have what is cut."""
        for changed in self.damaged_ranges.take_news():
            self._try(changed)

    @property
    def has_lost_tail(self) -> bool:
        """Whether a replica lacks records for which it is counted on: the broker has not kept all that it had."""
        return self._logs.has_lost_tail

    @property
    def are_withheld(self) -> bool:
        """Whether the broker is to stay fenced: unfenced it would be elected for what a replica lacks."""
        return self._logs.are_withheld

    def _is_torn(self, partition: TopicPartition) -> bool:
        hosted = self.hosted.get(partition)
        return hosted is not None and is_torn(hosted.log)

    def close(self) -> None:
        """Lead and follow nothing any more; the logs stay open."""
        self.moves.stop()
        self._fetchers.close()
        for partition, hosted in list(self.hosted.items()):
            _resign(hosted)
            del self.hosted[partition]
        self._roles.end("the broker stops")

    def _sort_out(self) -> frozenset[PartitionId]:
        """Set strays aside, once, by the first image that is known to be no older than this start.

        Returns what may be served by that: partitions whose place an earlier topic's files had.
        """
        if self._has_sorted_out or not self._view.knows_this_start:
            return frozenset()
        self._has_sorted_out = True
        set_strays_aside(self._view.image, self._broker_id, self._directories)
        self._settle_others()
        unfinished = UnfinishedMoves(self._view.image, self._broker_id, self._directories, self._directory_ids)
        for partition, root in unfinished.settle().items():
            self.moves.want(partition, root)
        self._directories.ensure_no_duplicates()
        note_vanished(self._view.image, self._broker_id, self._directories, self._directory_ids)
        return frozenset(self._given_up)

    def _settle_others(self) -> None:
        """Forget what is missing of partitions that are not this broker's any more."""
        short = self._directories.shortfalls
        if not short:
            return
        mine = {
            TopicPartition(topic.name, number)
            for topic, number, state in self._view.image.topics.partitions()
            if self._broker_id in state.replicas
        }
        for partition in short.keys() - mine:
            self._directories.disregard(partition)

    # --- one partition

    def _apply(self, changed: PartitionId) -> None:
        state, partition = self._view.state(changed), self._view.name(changed)
        if state is None or partition is None:
            self._drop(changed)
            return
        log = self._log(partition, changed.topic_id, state)
        self._names[changed] = partition
        self._note_place(changed, log, state)
        if state.leader == self._broker_id:
            self._lead(partition, changed.topic_id, log, state)
        else:
            self._follow(partition, changed.topic_id, log, state)

    def _lead(self, partition: TopicPartition, topic_id: UUID, log: Log, state: PartitionRegistration) -> None:
        known = self.hosted.get(partition)
        if known is not None and known.led is not None and known.leader_epoch == state.leader_epoch:
            known.led.update(state)
            return
        if known is not None:
            _resign(known)
        self._fetchers.forget(partition)
        hosted = self._hosted(partition, topic_id, log, state, is_leader=True)
        begin = partial(
            LedPartition,
            partition,
            topic_id,
            log,
            state,
            broker_id=self._broker_id,
            broker_of=self._view.broker,
            isr_changes=self._isr_changes,
            settings=self._settings.of_leader(self._view.image, partition.topic),
            clock=self._clock,
            wake=hosted.wake,
            tell=self._tell,
            traffic=hosted.traffic,
        )
        self._beginnings.add(Beginning(PartitionId(topic_id, partition.partition), partition, hosted, begin))

    def _begin_to_lead(self) -> None:
        """Lead all that are to be led, each from its own epoch on, which is on stable storage by then."""
        for each, led in self._beginnings.begin():
            if isinstance(led, Exception):
                self._give_up(each.changed, led)
            else:
                each.hosted.led = led
                self.hosted[each.partition] = each.hosted
                self._take_up(each.changed, each.partition)
                why = "elected uncleanly" if led.recovery_state else "elected"
                self._roles.leads(each.partition, each.hosted.log, self._broker_id, led.leader_epoch, why)

    def _follow(self, partition: TopicPartition, topic_id: UUID, log: Log, state: PartitionRegistration) -> None:
        known = self.hosted.get(partition)
        if known is not None:
            _resign(known)
        if known is None or known.led is not None or known.leader_epoch != state.leader_epoch:
            self.hosted[partition] = self._hosted(partition, topic_id, log, state, is_leader=False)
        self._take_up(PartitionId(topic_id, partition.partition), partition)
        address = self._view.address(state.leader)
        if address is None:
            self._fetchers.forget(partition)
        else:
            self._fetchers.follow(partition, log, LeaderAddress(state.leader, address), state.leader_epoch, topic_id)
        self._roles.follows(partition, log, state.leader, state.leader_epoch)

    def _hosted(
        self, partition: TopicPartition, topic_id: UUID, log: Log, state: PartitionRegistration, *, is_leader: bool
    ) -> HostedPartition:
        root, traffic = str(log.directory.parent), self._traffic.of(partition)
        return HostedPartition(
            log,
            state.leader_epoch,
            is_leader=is_leader,
            topic_id=topic_id,
            root=root,
            traffic=traffic,
            sound_ranges=log.sound_ranges(self._verify_interval_ms),
            on_failure=partial(self._damages.note, partition),
        )

    def _drop(self, changed: PartitionId) -> None:
        """Delete a replica that this broker no longer has; what was offline for another topic's files has none."""
        given_up, partition = self._given_up.pop(changed, None), self._names.pop(changed, None)
        if given_up is not None:
            self.hosted.offline.discard(given_up)
        self._places.forget(changed)
        self._passing.forget(changed)
        self._logs.forget(changed)
        if partition is not None:
            self.moves.drop(partition, is_deleted=True)
            self._stop(partition)
            self._directories.delete(partition)
            self._traffic.forget(partition)
            self._damages.forget(partition)
        gone = partition or given_up
        if gone is not None:
            self._directories.disregard(gone)
            is_deleted = self._view.name(changed) is None
            self._roles.has_none(gone, "the topic is deleted" if is_deleted else "other brokers have the replicas")

    def _give_up(self, changed: PartitionId, error: Exception) -> None:
        """Serve a partition no more, until the metadata says something new of it."""
        partition = self._names.get(changed) or self._view.name(changed)
        if partition is None:
            _log.error("a partition that is not this broker's any more could not be deleted: %s", error)
            return
        self.moves.drop(partition)
        self._stop(partition)
        self.hosted.offline.add(partition)
        self._given_up[changed] = partition
        self._roles.is_offline(partition, str(error))
        self._passing.note(changed, error)

    def _take_up(self, changed: PartitionId, partition: TopicPartition) -> None:
        """Serve a partition that may have been given up."""
        self._given_up.pop(changed, None)
        self.hosted.offline.discard(partition)
        self._passing.forget(changed)

    def _stop(self, partition: TopicPartition) -> None:
        self._fetchers.forget(partition)
        hosted = self.hosted.get(partition)
        if hosted is not None:
            _resign(hosted)
            del self.hosted[partition]

    def _serve_again(self, changed: PartitionId, hosted: HostedPartition) -> None:
        """Follow on with a log that was let go of; who leads has gone on already."""
        if hosted.led is None:
            self._try(changed)

    def _try(self, changed: PartitionId) -> None:
        try:
            self._apply(changed)
        except PARTITION_ERRORS as error:
            self._give_up(changed, error)

    # --- what it needs for that

    def _note_places(self, partitions: Iterable[PartitionId]) -> None:
        for changed in list(partitions):
            state, hosted = self._view.state(changed), self.hosted.get(self._names.get(changed, _NOBODY))
            if state is not None and hosted is not None:
                self._note_place(changed, hosted.log, state)

    def _note_place(self, changed: PartitionId, log: ReadableLog, state: PartitionRegistration) -> None:
        wanted = self.moves.wanted(self._names[changed])
        self._places.note(changed, log.directory.parent, self._view.directory_of(state), wanted)

    def _make_new_logs(self, partitions: frozenset[PartitionId]) -> None:
        """Make the logs of those that are new, where there are several; what is left out is made as it is taken up."""
        new: dict[TopicPartition, tuple[UUID, PartitionRegistration]] = {}
        for each in partitions & self._new:
            state, name = self._view.state(each), self._view.name(each)
            if state is not None and name is not None and self.moves.wanted(name) is None:
                new[name] = each.topic_id, state
        if len(new) > 1:
            self._logs.make_new(new)

    def _log(self, partition: TopicPartition, topic_id: UUID, state: PartitionRegistration) -> Log:
        """Return a partition's log, made where there is none. Raises LogStoreError, OtherTopicError, and OSError."""
        known = self.hosted.get(partition)
        if known is not None and isinstance(known.log, Log) and known.topic_id == topic_id:
            return known.log
        preferred = self.moves.wanted(partition)
        is_new = PartitionId(topic_id, partition.partition) in self._new
        log = self._logs.open(partition, topic_id, state, is_new=is_new, preferred=preferred)
        log.config = self._settings.of_log(self._view.image, partition.topic)
        return log

    def _configure(self, topics: Iterable[str]) -> None:
        """Apply the current settings of topics to their logs and leaders."""
        named = frozenset(topics)
        for partition, hosted in list(self.hosted.items()):
            if partition.topic in named and isinstance(hosted.log, Log):
                hosted.log.config = self._settings.of_log(self._view.image, partition.topic)
                if hosted.led is not None:
                    hosted.led.settings = self._settings.of_leader(self._view.image, partition.topic)


def _disk_failed(root: Path, failure: OSError) -> OfflineDirectoryError:
    return OfflineDirectoryError(f"{root} has failed: {failure}", advice="check the disk, and start the broker again")


def _resign(hosted: HostedPartition) -> None:
    """End a leadership, so that nobody appends by it any more, not even an append that has begun."""
    if hosted.led is not None:
        hosted.led.resign()
