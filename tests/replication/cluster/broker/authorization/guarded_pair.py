"""A real broker whose users log in and may do some things, and a server of ours beside it over the same metadata."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from logstore import Log, TopicPartition
from replication.cluster.broker.authorization.authorizer import Authorizer
from replication.cluster.broker.authorization.authorizer_settings import AuthorizerSettings
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.requests.group_apis import group_apis
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.guarded_administration import guarded_administration
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.broker.requests.writing_apis import writing_apis
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from replication.wire.addresses import Address
from replication.wire.client.security import SaslMechanism
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.messages.api import Api
from replication.wire.messages.topic_ids import Endpoint
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.security.sasl_authentication import SaslSettings
from replication.wire.server.security.users import UsersFile
from replication.wire.server.server import Server
from tests.data.make_replicas import wait_until
from tests.oracle.broker import CLUSTER, Broker, free_port, java
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.authorization.random_questions import kio_request
from tests.replication.cluster.broker.authorization.stub_administration import stub_administration
from tests.replication.cluster.broker.requests.real_answers import SECONDS, RealAnswers, known_api
from tests.replication.cluster.broker.requests.writing.leading import NoChanges

NODE: Final = 1
LISTENER: Final = "SASL_PLAINTEXT"
USERS: Final = ("admin", "alice", "bob", "carol", "dave", "erin", "frank")
SUPER_USERS: Final = "User:ANONYMOUS;User:admin"
TOPICS: Final = ("orders", "orders-2", "plain", "secret")
_HANDSHAKE, _AUTHENTICATE = 17, 36
_FIRST: Final = (
    (10, 3, {"key": "g", "key_type": 0}),
    (22, 1, {"transactional_id": None, "transaction_timeout": timedelta(seconds=1)}),
)
"""FindCoordinator and InitProducerId."""


def binding(
    user: str,
    operation: str,
    kind: str,
    name: str,
    *,
    is_prefix: bool = False,
    is_denied: bool = False,
    host: str = "*",
) -> AclBinding:
    """An entry; the cluster's type is called BROKER by this client."""
    pattern = ResourcePatternType.PREFIXED if is_prefix else ResourcePatternType.LITERAL
    permission = AclPermissionType.DENY if is_denied else AclPermissionType.ALLOW
    return AclBinding(ResourceType[kind], name, pattern, f"User:{user}", host, AclOperation[operation], permission)


class GuardedBroker(Broker):
    """With an authorizer, and users whose passwords are their names; who says no name may do everything."""

    def __init__(self, directory: Path, release: KafkaRelease) -> None:
        self.release = release
        self._options = ()
        self.root = directory / "logs"
        self._output = directory / "broker.out"
        self._properties = directory / "broker.properties"
        self.logins = Address("127.0.0.1", free_port())
        """Where users log in."""
        address, controller = Address("127.0.0.1", free_port()), Address("127.0.0.1", free_port())
        self.address = str(address)
        passwords = " ".join(f'user_{user}="{user}"' for user in USERS)
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        settings = {
            "process.roles": "broker,controller",
            "node.id": NODE,
            "controller.quorum.voters": f"{NODE}@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{address},{LISTENER}://{self.logins},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{address},{LISTENER}://{self.logins}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{LISTENER}:{LISTENER},CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{module} required {passwords};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": SUPER_USERS,
            "log.dirs": self.root,
            # So that topics which clients may create are not there afterwards on this one broker.
            "default.replication.factor": 2,
            "offsets.topic.num.partitions": 1,
            "offsets.topic.replication.factor": 1,
            "log.index.size.max.bytes": 65_536,
            "log.message.timestamp.before.max.ms": 2**63 - 1,
            "log.retention.ms": -1,
        }
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        arguments = ["format", "-t", CLUSTER, "-c", self._properties]
        subprocess.run([*java(release), "kafka.tools.StorageTool", *arguments], check=True, capture_output=True)


class GuardedPair:
    """Both have the same topics, empty and led in epoch 0, and the same entries."""

    def __init__(self, directory: Path, release: KafkaRelease, bindings: Sequence[AclBinding]) -> None:
        self._directory = directory
        self._broker = GuardedBroker(directory, release)
        self._bindings = bindings
        self._stack = ExitStack()
        self._connections: dict[str, tuple[RealAnswers, RealAnswers]] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._broker)
            self._make()
            self.image: ClusterImage = self._copied_image()
            server = stack.enter_context(self._server())
            for user in USERS:
                pair = LoggedIn(self._broker.logins, user), LoggedIn(server.addresses[LISTENER], user)
                self._connections[user] = pair
                for each in pair:
                    stack.callback(each.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def ask(self, user: str, key: int, request: Any, version: int) -> tuple[Any, Any]:
        """Ask both as a user, and return both answers, each as it was read from bytes."""
        api = known_api(key)
        sent = api.request.write(request, version)
        theirs, ours = self._connections[user]
        return theirs.ask(api, sent, version), ours.ask(api, sent, version)

    def _make(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._broker.address})
        for made in admin.create_topics([NewTopic(name, 1, 1) for name in TOPICS]).values():
            made.result(SECONDS)
        for made in admin.create_acls(list(self._bindings)).values():
            made.result(SECONDS)
        # The topic of groups is made, and a block of producer ids is got, once somebody asks for them.
        host, port = self._broker.address.split(":")
        real = RealAnswers(host, int(port))
        for key, version, content in _FIRST:
            api = known_api(key)
            sent = api.request.write(kio_request(key, version, content), version)
            wait_until(partial(_is_answered, real, api, sent, version), f"{api.name} is answered")
        real.close()

    def _copied_image(self) -> ClusterImage:
        """Return what the broker knows once it knows everything."""
        copy = self._directory / "metadata"

        def is_complete() -> bool:
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self._broker.root / "__cluster_metadata-0", copy / "__cluster_metadata-0")
            self.image = load_image(copy / "__cluster_metadata-0").image
            known = self.image.topics.by_name
            return len(self.image.access_control_entries) == len(self._bindings) and "__consumer_offsets" in known

        wait_until(is_complete, "the metadata is on the disk")
        return self.image.frozen()

    def _server(self) -> Server:
        image, partitions = self.image, HostedPartitions()
        (self._directory / "ours").mkdir()
        for topic, number, state in image.topics.partitions():
            log = Log.open(self._directory / "ours" / f"{topic.name}-{number}", replicated=True)
            partition = TopicPartition(topic.name, number)
            led = LedPartition(
                partition,
                topic.id,
                log,
                state,
                broker_id=NODE,
                broker_of=image.brokers.get,
                isr_changes=NoChanges(),
            )
            partitions[partition] = HostedPartition(log, 0, topic_id=topic.id, led=led, root=str(self._broker.root))
        known = KnownCluster(CLUSTER, NODE, lambda: image)
        properties = {"super.users": SUPER_USERS}
        self.permissions = permissions = Authorizer(
            known.image, AuthorizerSettings.of_properties(properties)
        ).permissions
        endpoint = Endpoint(NODE, *self._broker.logins)
        groups = group_apis(
            GroupCoordinator(), image=known.image, endpoint=lambda _, __: endpoint, permissions=permissions
        )
        reading = reading_apis(
            partitions, known, [str(self._broker.root)], create_topics=lambda _, __: None, permissions=permissions
        )
        writing = writing_apis(partitions, known, producer_ids=_Blocks(), permissions=permissions)
        users = self._directory / "users.json"
        users.write_text(json.dumps({user: {"password": user} for user in USERS}))
        sasl = SaslSettings(users=UsersFile(users), mechanisms=(SaslMechanism.PLAIN,))
        server = Server([ListenerSettings(address=Address("127.0.0.1", 0), name=LISTENER, sasl=sasl)])
        administration = guarded_administration(stub_administration(), known, permissions)
        server.start({**reading, **writing, **groups, **administration})
        return server


class LoggedIn(RealAnswers):
    """A connection of a user."""

    def __init__(self, address: Address, user: str) -> None:
        super().__init__(*address)
        begin, token = known_api(_HANDSHAKE), known_api(_AUTHENTICATE)
        asked = request_classes(_HANDSHAKE, 1).SaslHandshakeRequest(mechanism="PLAIN")
        assert not self.ask(begin, begin.request.write(asked, 1), 1).error_code
        login = request_classes(_AUTHENTICATE, 1).SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{user}".encode())
        assert not self.ask(token, token.request.write(login, 1), 1).error_code


def _is_answered(real: RealAnswers, api: Api, sent: bytes, version: int) -> bool:
    return not real.ask(api, sent, version).error_code


class _Blocks:
    def next_block(self) -> range:
        return range(1_000)
