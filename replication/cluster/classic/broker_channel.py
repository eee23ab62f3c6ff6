"""A thread that sends one broker its commands (Kafka: RequestSendThread)."""

from collections.abc import Mapping
from threading import Event
from typing import Any, Final

from logstore.topic_partition import TopicPartition
from replication.cluster.classic import controller_events
from replication.cluster.classic.guarded_controller import GuardedController
from replication.cluster.controller.classic.commands.broker_queue import RETRY_MS, BrokerQueue
from replication.cluster.controller.classic.commands.commands import Command, LeaderAndIsrRequest, StopReplicaRequest
from replication.cluster.controller.classic.commands.requests import request_of
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.worker_thread import WorkerThread
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.error_code import ErrorCode
from replication.wire.errors import InvalidSettingsError

_NO_NEWS: Final = frozenset({ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH})
"""Of a partition the second one says that the broker knows the leader epoch already."""


class BrokerChannel(WorkerThread):
    """Of one registration of a broker: in order, one at a time, again until it answers or is gone."""

    def __init__(
        self,
        broker_id: int,
        broker: RegisteredBroker,
        queue: BrokerQueue,
        controller: GuardedController,
        listener: str,
        settings: ClientSettings,
    ) -> None:
        """Send to the listener of this name, by which brokers reach each other."""
        super().__init__(f"controller-to-broker-{broker_id}")
        self.queue = queue
        self._broker_id = broker_id
        self._broker = broker
        self._controller: Final = controller
        self._listener = listener
        self._settings = settings
        self._woken: Final = Event()
        self._is_unreachable = False

    def wake(self) -> None:
        """Look whether there is something to send."""
        self._woken.set()

    def _wake(self) -> None:
        self._woken.set()

    def _round(self) -> None:
        self._woken.clear()
        command = self._controller.take(self.queue)
        if command is None:
            self._woken.wait(RETRY_MS / 1_000 if len(self.queue) else None)
            return
        errors = self._send(command)
        self._back_off.succeeded()
        if self._is_unreachable:
            self._is_unreachable = False
            controller_events.log_channel(self._broker_id, None)
        self._controller.answered(self._broker_id, self.queue, errors)

    def _send(self, command: Command) -> Mapping[TopicPartition, ErrorCode]:
        """Return the errors by partition that a broker answered with."""
        connection = self._connection or self._connect(self._address(), self._settings)
        answer: Any = connection.ask(request_of(command, self._listener))
        name = type(command).__name__.removesuffix("Request")
        if answer.error is not ErrorCode.NONE:
            controller_events.log_refused(self._broker_id, name, answer.error.name)
            if isinstance(command, StopReplicaRequest):
                return dict.fromkeys(command.partitions, answer.error)
        if not isinstance(command, LeaderAndIsrRequest | StopReplicaRequest):
            return {}
        errors: Mapping[TopicPartition, ErrorCode] = answer.errors
        for partition, error in errors.items():
            if error not in _NO_NEWS:
                controller_events.log_refused(self._broker_id, name, f"{partition}: {error.name}")
        return errors

    def _address(self) -> Address:
        found = self._broker.listener(self._listener)
        if found is None:
            raise InvalidSettingsError(
                f"broker {self._broker_id} is registered without a listener {self._listener}, by which brokers reach "
                "each other here: see inter.broker.listener.name"
            )
        return Address(found.host, found.port)

    def _lost(self, error: Exception) -> None:
        """Send it again, after a rest."""
        self._controller.failed(self.queue)
        if not self._is_unreachable and not self.stopped:
            self._is_unreachable = True
            controller_events.log_channel(self._broker_id, error)
        super()._lost(error)
