"""A controller over a real log, with brokers that live, and what answers administrators."""

from pathlib import Path
from typing import Any
from uuid import UUID

from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.controller.decision import Decision
from replication.cluster.standalone.local_link import LocalChannel
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.requests.administration_apis import administration_apis
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import ConfigRecord
from replication.wire.encoding.kio_messages import read, response_class, write
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import AlterPartitionRequest, InSyncReplica, IsrChange
from replication.wire.messages.apis import api_with
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from replication.wire.server.call import Call, Caller

CLUSTER = "standalone"
SETTINGS = ControllerSettings()


class SmallStandalone:
    """Brokers 1 to `brokers`, registered and unfenced. What is asked is of kio's classes, and so is what is told."""

    def __init__(self, directory: Path, brokers: int = 1, settings: ControllerSettings = SETTINGS) -> None:
        self._directory = directory
        self._settings = settings
        self._epochs: dict[int, int] = {}
        self._open()
        begin_cluster(self.controller)
        for broker_id in range(1, brokers + 1):
            self._register(broker_id)
            self.heartbeat(broker_id)

    @property
    def image(self) -> ClusterImage:
        """The cluster as of the last decision."""
        return self.controller.published.image

    def ask(self, request: Any) -> Any:
        """Return the answer to a request, both as they go over the wire."""
        key, version = request.__api_key__, request.__version__
        api = api_with(key)
        assert api is not None
        call = Call(version, Caller("127.0.0.1"), "tester")
        assert version in self.apis[key].versions
        answer = self.apis[key].answer(api.request.read(write(request), version), call)
        parts = api.response.write_parts(answer, version)
        return read(response_class(key, version), b"".join(parts))

    def set(self, type_: int, resource: str, name: str, value: str) -> None:
        """Set something without asking whether it may be set."""
        record = ConfigRecord(resource_type=type_, resource_name=resource, name=name, value=value)
        self.controller.decide(lambda _: Decision([record], None))

    def heartbeat(self, broker_id: int, **fields: Any) -> None:
        """Let a broker live, or say with `want_fence` that it does not."""
        offset = self.controller.published.applied_offset
        request = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=self._epochs[broker_id], current_metadata_offset=offset, **fields
        )
        self.controller.decide(lambda deciding: deciding.heartbeat(request, 0))

    def rejoin(self, topic: str, partition: int, broker_id: int) -> None:
        """Let the leader of a partition take a broker into its ISR."""
        known = self.image.topics.by_name[topic]
        state = known.partitions[partition]
        change = IsrChange(
            known.id,
            partition,
            state.leader_epoch,
            state.partition_epoch,
            tuple(map(InSyncReplica, (*state.isr, broker_id))),
        )
        request = AlterPartitionRequest(
            broker_id=state.leader, broker_epoch=self._epochs[state.leader], changes=(change,)
        )
        (answer,) = self.controller.decide(lambda deciding: deciding.change_isrs(request))
        assert answer.error is ErrorCode.NONE, answer

    def reopen(self) -> None:
        """Close the log, and go on as the process does that starts next."""
        self.close()
        self._open()

    def close(self) -> None:
        """Close the log."""
        self._metadata.close()

    def _open(self) -> None:
        self._metadata = StoredMetadata.open(self._directory)
        self.controller = StaticController(CLUSTER, self._metadata, self._settings, clock=lambda: 0)
        self.apis = administration_apis(self.controller, node_id=1)

    def _register(self, broker_id: int) -> None:
        request = BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=CLUSTER,
            incarnation_id=UUID(int=broker_id),
            listeners=(),
            log_dirs=(UUID(int=1_000 + broker_id),),
            features={"metadata.version": range(1, 41), "eligible.leader.replicas.version": range(2)},
        )
        self._epochs[broker_id] = LocalChannel(self.controller, lambda: 0).ask(request).broker_epoch
