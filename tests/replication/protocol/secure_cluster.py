"""A real broker with a listener for each way to protect a connection."""

from pathlib import Path

from replication.protocol.addresses import Address
from tests.oracle.cluster import CLUSTER_ID, KafkaCluster, free_port
from tests.replication.protocol.certificates import Authority

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


class SecureCluster(KafkaCluster):
    """One broker; `addresses` by listener. alice's password is alice-secret by every mechanism."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.authority = Authority(directory, "authority")
        self.stranger = Authority(directory, "stranger")
        ports = {name: self.ports[1] if name == "PLAINTEXT" else free_port() for name in LISTENERS}
        self.addresses = {name: Address("127.0.0.1", port) for name, port in ports.items()}
        listeners = ",".join(f"{name}://{address}" for name, address in self.addresses.items())
        protocols = {**LISTENERS, "CONTROLLER": "PLAINTEXT"}
        self.settings = {
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in protocols.items()),
            "sasl.enabled.mechanisms": ",".join(("PLAIN", *MECHANISMS)),
            **self._tls(),
            **self._logins("sasl_plaintext"),
            **self._logins("sasl_ssl"),
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

    @staticmethod
    def _logins(listener: str) -> dict[str, object]:
        prefix = f"listener.name.{listener}"
        plain = f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        scram = f"{_LOGIN}.scram.ScramLoginModule required;"
        logins = {f"{prefix}.{mechanism.lower()}.sasl.jaas.config": scram for mechanism in MECHANISMS}
        return {f"{prefix}.plain.sasl.jaas.config": plain, **logins}

    def _format(self, node: int) -> None:
        users = [f"--add-scram={mechanism}=[name={USER},password={PASSWORD}]" for mechanism in MECHANISMS]
        self.run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", self._configuration(node), *users)
