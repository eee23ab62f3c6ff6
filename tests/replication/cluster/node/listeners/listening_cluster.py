"""One of Kafka's brokers and one of ours, each with listeners for brokers, for clients that log in, and for others."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.oracle.broker import free_port
from tests.oracle.cluster import CLUSTER_ID, CONTROLLER, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.member import SESSION_MS, controllers
from tests.replication.wire.certificates import Authority

OURS, THEIRS = 9, 1
LISTENERS: Final = {
    "PLAINTEXT": "PLAINTEXT",
    "BROKERS": "SASL_SSL",
    "LOGINS": "SASL_PLAINTEXT",
    "SECURE": "SASL_SSL",
}
"""Protocols, by listener."""
MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
ADMIN, PASSWORD = "admin", "admin-secret"
_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"


class Ports:
    """A port for each listener of a broker."""

    def __init__(self, plaintext: int | None = None) -> None:
        ports = {name: free_port() for name in LISTENERS}
        self.by_listener: Final[Mapping[str, int]] = ports | ({"PLAINTEXT": plaintext} if plaintext else {})

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.by_listener[listener]}"


def login(user: str, password: str, mechanism: str = MECHANISMS[0]) -> dict[str, str]:
    """What a client of librdkafka logs in with."""
    return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}


@dataclass
class ListeningCluster(KafkaCluster):
    """Brokers log in to each other, and the first user comes with the formatting of the controller (KIP-900).

    Kafka's broker is the controller as well.
    """

    @property
    def nodes(self) -> Sequence[int]:
        return self.ids

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ports[CONTROLLER] = free_port()
        self.authority = Authority(self.directory, "authority")
        self.certificate = self.authority.issue("broker", "127.0.0.1").both
        self.of = {THEIRS: Ports(self.ports[THEIRS]), OURS: Ports()}

    def listeners(self, node: int) -> dict[str, object]:
        """Return a broker's properties of its listeners: the same for Kafka's and ours."""
        entries = ",".join(f"{name}://{self.of[node].address(name)}" for name in LISTENERS)
        protocols = {**LISTENERS, "CONTROLLER": "PLAINTEXT"}
        logs_in = f'{_MODULE} username="{ADMIN}" password="{PASSWORD}";'
        return {
            "listeners": entries,
            "advertised.listeners": entries,
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in protocols.items()),
            "inter.broker.listener.name": "BROKERS",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.brokers.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.brokers.scram-sha-512.sasl.jaas.config": logs_in,
            **{
                f"listener.name.{name}.{mechanism.lower()}.sasl.jaas.config": f"{_MODULE};"
                for name in ("logins", "secure")
                for mechanism in MECHANISMS
            },
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.certificate,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority.certificate,
        }

    def client(self, node: int, listener: str, credentials: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return how a client of librdkafka comes by a listener; as the first user unless told otherwise."""
        protocol = LISTENERS[listener]
        settings = {"bootstrap.servers": self.of[node].address(listener), "security.protocol": protocol}
        if protocol.startswith("SASL"):
            settings |= login(ADMIN, PASSWORD, MECHANISMS[1]) if credentials is None else credentials
        if protocol.endswith("SSL"):
            settings["ssl.ca.location"] = str(self.authority.certificate)
        return settings

    def client_file(self, listener: str, user: str, password: str, mechanism: str) -> Path:
        """Write how a client of Java comes by a listener."""
        properties: dict[str, object] = {"security.protocol": LISTENERS[listener], "sasl.mechanism": mechanism}
        properties["sasl.jaas.config"] = f'{_MODULE} username="{user}" password="{password}";'
        if LISTENERS[listener].endswith("SSL"):
            properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.authority.certificate}
        path = self.directory / f"{listener}-{user}-{mechanism}.properties"
        path.write_text(_lines(properties))
        return path

    def _configuration(self, node: int) -> Path:
        path = super()._configuration(node)
        told = self.listeners(node)
        controller = f"CONTROLLER://127.0.0.1:{self.ports[CONTROLLER]}"
        roles = {"process.roles": "broker,controller", "listeners": f"{told['listeners']},{controller}"}
        path.write_text(path.read_text() + _lines({**told, **roles, **self.controller_settings}))
        return path

    def _quorum_settings(self) -> Mapping[str, object]:
        return {"controller.quorum.voters": f"{THEIRS}@127.0.0.1:{self.ports[CONTROLLER]}"}

    def _format_options(self, node: int) -> Sequence[str]:
        del node
        return "--add-scram", f"SCRAM-SHA-512=[name={ADMIN},password={PASSWORD}]"


@contextmanager
def listening(directory: Path, release: KafkaRelease) -> Iterator[ListeningCluster]:
    """Start both, and end ours in order."""
    session = {"broker.session.timeout.ms": SESSION_MS}
    with ListeningCluster(directory, release, controller_settings=session) as cluster:
        config = server_properties(directory, controllers(cluster), OURS, **cluster.listeners(OURS))  # type: ignore[arg-type]
        assert epochlog("format", "--config", config, "--cluster-id", CLUSTER_ID).status == 0
        with joined(config) as (process, told):
            ours = cluster.of[OURS]
            assert told["listeners"] == {name: ours.address(name) for name in sorted(LISTENERS, key=_brokers_first)}
            yield cluster
            process.terminate()
            assert process.wait(SECONDS) == 0


def _brokers_first(listener: str) -> bool:
    return listener != "BROKERS"


def _lines(properties: Mapping[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in properties.items())
