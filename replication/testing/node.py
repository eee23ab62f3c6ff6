"""One broker of a cluster for tests: its directory, and its process as far as that lives."""

import os
from pathlib import Path
from typing import Final

from logstore import TopicPartition
from logstore.directory.log_directories import LogDirectories
from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.standalone.local_link import LocalLink
from replication.cluster.standalone.static_controller import StaticController
from replication.testing.forgetful_disk import ForgetfulDisk
from replication.testing.linked_broker import LinkedBroker
from replication.testing.linked_controller import LinkedController
from replication.testing.links import Links
from replication.testing.node_settings import NodeSettings
from replication.wire.addresses import Address


class Node:
    """Started, stopped, killed, and started again on the same directory and port."""

    def __init__(
        self,
        broker_id: int,
        root: Path,
        controller: StaticController,
        links: Links,
        settings: NodeSettings,
    ) -> None:
        """Own a directory that is formatted for the broker; nothing runs yet."""
        self.broker_id: Final = broker_id
        self.root: Final = root
        self.address: Address = Address("127.0.0.1", 0)
        """Where it listens; the same one from its first start on."""
        self.broker: BrokerNode | None = None
        """None while it is down."""
        self._controller: Final = LinkedController(LocalLink(controller), broker_id, links)
        self._links: Final = links
        self._settings: Final = settings
        self._disk: Final = ForgetfulDisk()
        self._directories: LogDirectories | None = None

    @property
    def is_up(self) -> bool:
        """Whether it was started, and neither stopped nor killed since."""
        return self.broker is not None

    @property
    def pid(self) -> int | None:
        """The id of this process; None while it is down."""
        return os.getpid() if self.is_up else None

    def leads(self, partition: TopicPartition, leader_epoch: int) -> bool:
        """Whether it leads a partition in an epoch."""
        broker = self.broker
        hosted = None if broker is None else broker.replicas.hosted.get(partition)
        return hosted is not None and hosted.leader_epoch == leader_epoch

    def start(self) -> None:
        """Open the directory, and take the broker's place in the cluster. Raises ValueError where it is up."""
        if self.broker is not None:
            raise ValueError(f"broker {self.broker_id} is up")
        directories = LogDirectories.open(
            [self.root],
            replicated=True,
            damage="hold",
            settings=self._settings.of_directories,
            filesystem=self._disk,
            periodic=True,
        )
        settings = self._settings.of_node(self.address)
        try:
            self.broker = LinkedBroker(self.broker_id, self._links, self._controller, directories, settings)
        except BaseException:
            directories.abandon()
            raise
        self._directories, self.address = directories, self.broker.address

    def stop(self) -> None:
        """Leave in order, with all on stable storage."""
        broker, directories = self._taken()
        try:
            broker.close()
        finally:
            directories.close()

    def kill(self, *, lose_unflushed: bool = False) -> int:
        """End at once, as by SIGKILL, or by a loss of power; return how many bytes are lost with that."""
        broker, directories = self._taken()
        try:
            broker.abandon()
        finally:
            directories.abandon()
        return self._disk.lose() if lose_unflushed else 0

    def _taken(self) -> tuple[BrokerNode, LogDirectories]:
        broker, directories = self.broker, self._directories
        if broker is None or directories is None:
            raise ValueError(f"broker {self.broker_id} is down: start it first")
        self.broker = self._directories = None
        return broker, directories
