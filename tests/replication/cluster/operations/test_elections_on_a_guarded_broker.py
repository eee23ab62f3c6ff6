"""Who may not elect, or gives a wrong password, is told what Kafka's own tool tells on the same broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.wire.secure_broker import PASSWORD, USER, SecureBroker

ELECTION = ("--election-type", "preferred", "--all-topic-partitions")


class GuardedBroker(SecureBroker):
    """Lets whoever does not say who he is do all, and alice nothing."""

    def _node(self) -> dict[str, object]:
        return super()._node() | {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[GuardedBroker]:
    with GuardedBroker(tmp_path_factory.mktemp("guarded"), release) as running:
        yield running


@pytest.fixture(scope="module")
def tool(release: KafkaRelease) -> Iterator[KafkaTools]:
    with KafkaTools(release) as program:
        yield program


def both(tool: KafkaTools, *arguments: object) -> tuple[Outcome, Outcome]:
    return epochlog("elect", *arguments), Outcome(*tool.run("kafka-leader-election", *arguments))


def login(path: Path, password: str, protocol: str = "SASL_PLAINTEXT", **more: object) -> Path:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    settings = {
        "security.protocol": protocol,
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} required username="{USER}" password="{password}";',
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_who_may_not_alter_the_cluster(broker: GuardedBroker, tool: KafkaTools, tmp_path: Path, protocol: str) -> None:
    trusted = {"ssl_truststore_type": "PEM", "ssl_truststore_location": broker.authority.certificate}
    properties = login(tmp_path / "alice.properties", PASSWORD, protocol, **trusted)
    address = broker.addresses[protocol]
    ours, theirs = both(tool, "--bootstrap-server", address, *ELECTION, "--command-config", properties)
    assert (ours.status, ours.out) == (1, "Not authorized to perform leader election\n")
    assert (theirs.status, theirs.out) == (ours.status, ours.out)
    assert theirs.err.splitlines()[0] == ours.err.splitlines()[0]


def test_a_wrong_password(broker: GuardedBroker, tool: KafkaTools, tmp_path: Path) -> None:
    properties = login(tmp_path / "wrong.properties", "guessed")
    address = broker.addresses["SASL_PLAINTEXT"]
    ours, theirs = both(tool, "--bootstrap-server", address, *ELECTION, "--command-config", properties)
    assert (ours.status, ours.out) == (theirs.status, theirs.out) == (1, "")
    assert "authentication failed" in ours.err.lower()
    assert "authentication failed" in theirs.err.lower()


def test_who_may(broker: GuardedBroker, tool: KafkaTools) -> None:
    ours, theirs = both(tool, "--bootstrap-server", broker.address, *ELECTION)
    assert (ours.status, ours.out, ours.err) == (theirs.status, theirs.out, theirs.err) == (0, "", "")
