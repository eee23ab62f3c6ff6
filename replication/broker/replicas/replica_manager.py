"""Makes of a broker's logs what the metadata says of them: led, followed, or deleted (Kafka: ReplicaManager)."""

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from logstore import Log, LogStoreError, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.errors import OfflineDirectoryError
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata, format_uuid
from replication.broker.errors import OtherTopicError
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.broker.partitions.hosted_partitions import HostedPartitions
from replication.broker.partitions.isr_changes import IsrChanges
from replication.broker.partitions.led_partition import LedPartition
from replication.broker.replicas.topic_settings import TopicSettings
from replication.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.metadata.configurations import ConfigResourceType
from replication.metadata.image import ClusterImage
from replication.metadata.image_changes import ImageChanges, PartitionId
from replication.metadata.nodes import BrokerRegistration
from replication.metadata.partition import PartitionRegistration
from replication.metadata.records import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from replication.protocol.addresses import Address

_log: Final = logging.getLogger(__name__)
_PARTITION_ERRORS: Final = (LogStoreError, OtherTopicError, OSError)
"""What keeps one partition from being served, and no other."""


_NO_DIRECTORIES: Final = (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY)
_DISK_ADVICE: Final = "put its disk back, and start the broker with all of its log.dirs"
_AT_ONCE: Final = 32
"""Threads that wait for the disk."""


class _Beginning(NamedTuple):
    """Of a leadership."""

    changed: PartitionId
    partition: TopicPartition
    hosted: HostedPartition
    begin: Callable[[], LedPartition]


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
        listener: str,
        clock: Callable[[], int],
    ) -> None:
        """Serve nothing yet. Leaders are followed by their `listener`; `clock` gives milliseconds."""
        self.hosted: Final = HostedPartitions()
        """What requests are answered from."""
        self._broker_id: Final = broker_id
        self._directories: Final = directories
        self._directory_ids: Final = directory_ids
        self._fetchers: Final = fetchers
        self._isr_changes: Final = isr_changes
        self._settings: Final = settings
        self._listener: Final = listener
        self._clock: Final = clock
        self._image = ClusterImage()
        self._names: Final[dict[PartitionId, TopicPartition]] = {}
        """Of the partitions that are this broker's."""
        self._given_up: Final[dict[PartitionId, TopicPartition]] = {}
        """Of those that are offline, some of which never had a log here."""
        self._to_lead: Final[list[_Beginning]] = []
        self._ids: Final = {root.root: id_ for id_, root in directory_ids.items()}
        self._new_topics: frozenset[UUID] = frozenset()
        self.unassigned: Final[dict[PartitionId, UUID]] = {}
        """In which directories replicas lie of which the metadata does not say it yet; who has told the controller, in
        any thread, takes them out."""

    def apply(self, image: ClusterImage, changes: ImageChanges) -> None:
        """Take an image, of which this is other than in the one before. Raises nothing that one partition is about."""
        # Of the first image nobody knows what is new.
        self._new_topics = changes.topics if self._image.brokers else frozenset()
        self._image = image
        # Deletions first: a topic may have been made again under the same name.
        for changed in sorted(changes.partitions | self._led_by(changes.brokers), key=self._exists):
            try:
                self._apply(changed)
            except _PARTITION_ERRORS as error:
                self._give_up(changed, error)
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
        """Let leaders look whether followers have fallen behind (Kafka: maybeShrinkIsr)."""
        for hosted in tuple(self.hosted.values()):
            if hosted.led is not None:
                hosted.led.check_lag()

    def notice_failures(self) -> frozenset[UUID]:
        """Take what lies on failed disks offline; return the ids of the directories that have failed by now."""
        failed = {root.root for root in self._directories.roots if root.failure is not None}
        if failed:
            for changed, partition in list(self._names.items()):
                hosted = self.hosted.get(partition)
                if hosted is not None and hosted.log.directory.parent in failed:
                    self._give_up(changed, OSError(f"{hosted.log.directory.parent} has failed"))
        return frozenset(id_ for id_, root in self._directory_ids.items() if root.failure is not None)

    def close(self) -> None:
        """Lead and follow nothing any more; the logs stay open."""
        self._fetchers.close()
        for partition, hosted in list(self.hosted.items()):
            _resign(hosted)
            del self.hosted[partition]

    # --- one partition

    def _exists(self, changed: PartitionId) -> bool:
        return self._state(changed) is not None

    def _state(self, changed: PartitionId) -> PartitionRegistration | None:
        """Return a partition as the image has it, where it is this broker's."""
        topic = self._image.topics.by_id.get(changed.topic_id)
        state = topic.partitions.get(changed.partition) if topic else None
        return state if state is not None and self._broker_id in state.replicas else None

    def _apply(self, changed: PartitionId) -> None:
        state = self._state(changed)
        if state is None:
            self._drop(changed)
            return
        partition = TopicPartition(self._image.topics.by_id[changed.topic_id].name, changed.partition)
        log = self._log(partition, changed.topic_id, state)
        self._names[changed] = partition
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
        hosted = HostedPartition(log, state.leader_epoch, topic_id=topic_id, root=str(log.directory.parent))
        begin = partial(
            LedPartition,
            partition,
            topic_id,
            log,
            state,
            broker_id=self._broker_id,
            broker_of=self._broker,
            isr_changes=self._isr_changes,
            settings=self._settings.of_leader(self._image, partition.topic),
            clock=self._clock,
            wake=hosted.wake,
        )
        self._to_lead.append(_Beginning(PartitionId(topic_id, partition.partition), partition, hosted, begin))

    def _begin_to_lead(self) -> None:
        """Lead all that are to be led, each from its own epoch on, which is on stable storage by then.

        Many at once: a disk makes the files of many partitions safe in the time that it takes for a few.
        """
        to_lead = list(self._to_lead)
        self._to_lead.clear()
        if not to_lead:
            return
        with ThreadPoolExecutor(min(len(to_lead), _AT_ONCE), "epochlog-begin-to-lead") as threads:
            begun = [threads.submit(each.begin) for each in to_lead]
        for each, led in zip(to_lead, begun, strict=True):
            try:
                each.hosted.led = led.result()
            except _PARTITION_ERRORS as error:
                self._give_up(each.changed, error)
            else:
                self.hosted[each.partition] = each.hosted
                self._take_up(each.changed, each.partition)

    def _follow(self, partition: TopicPartition, topic_id: UUID, log: Log, state: PartitionRegistration) -> None:
        known = self.hosted.get(partition)
        if known is not None:
            _resign(known)
        if known is None or known.led is not None or known.leader_epoch != state.leader_epoch:
            root = str(log.directory.parent)
            self.hosted[partition] = HostedPartition(
                log, state.leader_epoch, is_leader=False, topic_id=topic_id, root=root
            )
        self._take_up(PartitionId(topic_id, partition.partition), partition)
        address = self._address(state.leader)
        if address is None:
            self._fetchers.forget(partition)
        else:
            self._fetchers.follow(partition, log, LeaderAddress(state.leader, address), state.leader_epoch, topic_id)

    def _drop(self, changed: PartitionId) -> None:
        """Delete a replica that this broker no longer has; what was offline for another topic's files has none."""
        given_up, partition = self._given_up.pop(changed, None), self._names.pop(changed, None)
        if given_up is not None:
            self.hosted.offline.discard(given_up)
        if partition is not None:
            self._stop(partition)
            self._directories.delete(partition)

    def _give_up(self, changed: PartitionId, error: Exception) -> None:
        """Serve a partition no more, until the metadata says something new of it."""
        topic = self._image.topics.by_id.get(changed.topic_id)
        partition = self._names.get(changed)
        if partition is None and topic is not None:
            partition = TopicPartition(topic.name, changed.partition)
        if partition is None:
            _log.error("a partition that is not this broker's any more could not be deleted: %s", error)
            return
        if partition not in self.hosted.offline:
            _log.error("%s is offline here: %s", partition, error)
        self._stop(partition)
        self.hosted.offline.add(partition)
        self._given_up[changed] = partition

    def _take_up(self, changed: PartitionId, partition: TopicPartition) -> None:
        """Serve a partition that may have been given up."""
        self._given_up.pop(changed, None)
        self.hosted.offline.discard(partition)

    def _stop(self, partition: TopicPartition) -> None:
        self._fetchers.forget(partition)
        hosted = self.hosted.get(partition)
        if hosted is not None:
            _resign(hosted)
            del self.hosted[partition]

    # --- what it needs for that

    def _log(self, partition: TopicPartition, topic_id: UUID, state: PartitionRegistration) -> Log:
        """Return a partition's log, made where there is none. Raises LogStoreError, OtherTopicError, and OSError."""
        known = self.hosted.get(partition)
        if known is not None and isinstance(known.log, Log) and known.topic_id == topic_id:
            return known.log
        log = self._directories.partitions.get(partition)
        if log is None:
            log = self._make(partition, topic_id, state.directory_of(self._broker_id))
        else:
            held = PartitionMetadata.of(log.directory)
            if held is None:
                PartitionMetadata(topic_id).write(log.directory / PARTITION_METADATA_NAME)
            elif held.topic_id != topic_id:
                raise OtherTopicError(log.directory, held.topic_id, topic_id)
        log.config = self._settings.of_log(self._image, partition.topic)
        root_id = self._ids.get(log.directory.parent)
        if root_id is not None and state.directory_of(self._broker_id) == UNASSIGNED_DIRECTORY:
            self.unassigned[PartitionId(topic_id, partition.partition)] = root_id
        return log

    def _make(self, partition: TopicPartition, topic_id: UUID, directory_id: UUID) -> Log:
        """Make a log where there is none. Raises OfflineDirectoryError where there may be one that cannot be seen now.

        An empty one in its place would lead, and what the other holds would be gone for whoever reads.
        """
        if directory_id in _NO_DIRECTORIES:
            if self._directories.offline and topic_id not in self._new_topics:
                raise OfflineDirectoryError(f"{partition} may lie in a directory that is offline", advice=_DISK_ADVICE)
            return self._directories.create(partition, topic_id=topic_id)
        root = self._directory_ids.get(directory_id)
        if root is None or root.failure is not None:
            name = format_uuid(directory_id)
            raise OfflineDirectoryError(
                f"{partition} lies in the directory with the id {name}, which is not there or has failed",
                advice=_DISK_ADVICE,
            )
        return root.create(partition, topic_id=topic_id)

    def _configure(self, topics: Iterable[str]) -> None:
        """Let logs and leaders take what is set for their topics by now."""
        named = frozenset(topics)
        for partition, hosted in list(self.hosted.items()):
            if partition.topic in named and isinstance(hosted.log, Log):
                hosted.log.config = self._settings.of_log(self._image, partition.topic)
                if hosted.led is not None:
                    hosted.led.settings = self._settings.of_leader(self._image, partition.topic)

    def _led_by(self, brokers: frozenset[int]) -> frozenset[PartitionId]:
        """Return the partitions that are followed here and led by one of these brokers, which may listen elsewhere."""
        if not brokers - {self._broker_id}:
            return frozenset()
        states = ((each, self._state(each)) for each in self._names)
        return frozenset(each for each, state in states if state is not None and state.leader in brokers)

    def _broker(self, broker_id: int) -> BrokerRegistration | None:
        return self._image.brokers.get(broker_id)

    def _address(self, broker_id: int) -> Address | None:
        broker = self._image.brokers.get(broker_id)
        endpoint = None if broker is None or broker.fenced else broker.listeners.get(self._listener)
        return None if endpoint is None else Address(endpoint.host, endpoint.port)


def _resign(hosted: HostedPartition) -> None:
    """Let nobody append by a leadership that is over, not even who has begun."""
    if hosted.led is not None:
        hosted.led.resign()
