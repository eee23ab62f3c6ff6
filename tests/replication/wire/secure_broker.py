"""A real broker with a listener for each way to protect a connection."""

import subprocess
from pathlib import Path

from replication.wire.addresses import Address
from tests.oracle.broker import CLUSTER, Broker, free_port, java
from tests.oracle.release import KafkaRelease
from tests.replication.wire.certificates import Authority

LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "MUTUAL": "SSL",
    "ELSEWHERE": "SSL",
}
"""Security protocol by listener: MUTUAL asks for the client's certificate, ELSEWHERE has one for another host."""

USER, PASSWORD = "alice", "alice-secret"
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_LOGIN = "org.apache.kafka.common.security"


class SecureBroker(Broker):
    """`addresses` by listener. alice's password is alice-secret by every mechanism."""

    def __init__(self, directory: Path, release: KafkaRelease) -> None:
        self.release = release
        self._options = ()
        self.root = directory / "logs"
        self._output = directory / "broker.out"
        self._properties = directory / "broker.properties"
        self.authority = Authority(directory, "authority")
        self.stranger = Authority(directory, "stranger")
        self.addresses = {name: Address("127.0.0.1", free_port()) for name in LISTENERS}
        self.address = str(self.addresses["PLAINTEXT"])
        settings = {**self._node(), **self._tls(), **_logins("sasl_plaintext"), **_logins("sasl_ssl")}
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        users = [f"--add-scram={mechanism}=[name={USER},password={PASSWORD}]" for mechanism in MECHANISMS]
        arguments = ["format", "-t", CLUSTER, "-c", self._properties, *users]
        subprocess.run([*java(release), "kafka.tools.StorageTool", *arguments], check=True, capture_output=True)

    def _node(self) -> dict[str, object]:
        controller = Address("127.0.0.1", free_port())
        listeners = ",".join(f"{name}://{address}" for name, address in self.addresses.items())
        protocols = {**LISTENERS, "CONTROLLER": "PLAINTEXT"}
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listeners},CONTROLLER://{controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in protocols.items()),
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": ",".join(("PLAIN", *MECHANISMS, "OAUTHBEARER")),
            # So that sessions end with their tokens, of which only a test's live shorter.
            "connections.max.reauth.ms": 3_600_000,
            "log.dirs": self.root,
            "log.index.size.max.bytes": 65_536,
            "log.message.timestamp.before.max.ms": 2**63 - 1,
            "log.retention.ms": -1,
        }

    def _tls(self) -> dict[str, object]:
        elsewhere = self.authority.issue("elsewhere", "elsewhere.example")
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.authority.issue("broker", "127.0.0.1").both,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority.certificate,
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.elsewhere.ssl.keystore.type": "PEM",
            "listener.name.elsewhere.ssl.keystore.location": elsewhere.both,
        }


def _logins(listener: str) -> dict[str, object]:
    prefix = f"listener.name.{listener}"
    plain = f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    scram = f"{_LOGIN}.scram.ScramLoginModule required;"
    logins = {f"{prefix}.{mechanism.lower()}.sasl.jaas.config": scram for mechanism in MECHANISMS}
    # Without a handler of one's own a broker takes any token that is not signed and has not ended.
    bearer = f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required;"
    return {
        f"{prefix}.plain.sasl.jaas.config": plain,
        f"{prefix}.oauthbearer.sasl.jaas.config": bearer,
        **logins,
    }
