"""What a server.properties of Kafka's says to a broker of ours that joins a cluster."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cli.settings.joining_properties import JoiningProperties, misspelt, similar_names
from replication.wire.addresses import Address
from replication.wire.client.security import SaslMechanism, SaslSettings
from replication.wire.errors import InvalidSettingsError

LEAST = {
    "process.roles": "broker",
    "node.id": "9",
    "log.dirs": "/one,/two",
    "controller.quorum.voters": "100@c1:9093,101@c2:9093",
    "controller.listener.names": "CONTROLLER",
}
KNOWN = ("log.dirs", "log.retention.hours", "min.insync.replicas", "metrics.listener")


def read(**changes: str) -> JoiningProperties:
    return JoiningProperties.of({**LEAST, **{name.replace("_", "."): value for name, value in changes.items()}})


def test_the_least_that_it_takes() -> None:
    taken = read()
    assert (taken.node_id, taken.roots, taken.metadata_root) == (9, (Path("/one"), Path("/two")), Path("/one"))
    assert taken.controllers == (Address("c1", 9093), Address("c2", 9093))
    (listener,) = taken.listeners
    assert (listener.name, listener.address, listener.advertised) == ("PLAINTEXT", Address("", 9092), Address("", 9092))
    assert (taken.passed_over, taken.rack, taken.cordoned) == ((), None, None)


def test_bootstrap_servers_come_before_voters_and_older_names_are_taken() -> None:
    older = {"broker.id" if name == "node.id" else name: value for name, value in LEAST.items()}
    taken = JoiningProperties.of({**older, "controller.quorum.bootstrap.servers": "c3:1"})
    assert (taken.node_id, taken.controllers) == (9, (Address("c3", 1),))
    assert read(log_dir="/older", broker_id="9").roots == (Path("/one"), Path("/two")), "newer names come before older"


@pytest.mark.parametrize(
    ("text", "address"),
    [("", None), ("9404", ("127.0.0.1", 9404)), ("0", ("127.0.0.1", 0)), ("[::1]:9404", ("::1", 9404))],
)
def test_metrics_are_served_on_this_machine_alone_unless_a_host_is_named(
    text: str, address: tuple[str, int] | None
) -> None:
    assert read(metrics_listener=text).broker.metrics == address


def test_what_makes_no_difference_is_named() -> None:
    taken = read(num_io_threads="8", zookeeper_connect="a", num_partitions="9", log_preallocate="true", broker_rack="r")
    assert taken.passed_over == ("log.preallocate", "num.io.threads", "num.partitions", "zookeeper.connect")
    assert taken.rack == "r"


def test_it_starts_without_coordinators_only_where_that_is_said() -> None:
    assert not read().starts_without_coordinators
    assert read(start_without_coordinators="True").starts_without_coordinators
    with pytest.raises(InvalidSettingsError, match=r"start\.without\.coordinators is 'yes', and must be true or false"):
        read(start_without_coordinators="yes")


def test_a_name_that_is_nearly_one_that_is_missing_is_told() -> None:
    given = {**LEAST, "controler.listener.names": LEAST["controller.listener.names"], "num.io.threads": "8"}
    del given["controller.listener.names"]
    with pytest.raises(InvalidSettingsError) as refused:
        JoiningProperties.of(given)
    said = str(refused.value).split("; ")
    assert said[-1] == "controler.listener.names is not known: is controller.listener.names meant?"
    assert not any("num.io.threads" in each for each in said)


@pytest.mark.parametrize("text", [b"\xef\xbb\xbf", b"\xef\xbb\xbf# of ours\r\n"])
def test_the_mark_that_editors_put_before_utf8_is_no_part_of_a_name(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(text + "".join(f"{name}={value}\r\n" for name, value in LEAST.items()).encode())
    taken = JoiningProperties.read(file)
    assert (taken.node_id, taken.passed_over) == (9, ())


@pytest.mark.parametrize("data", ["process.roles=broker\n".encode("utf-16"), b"\x7fELF\0\0"], ids=["utf-16", "binary"])
def test_a_file_that_is_no_plain_text_is_refused_as_that(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(data)
    with pytest.raises(InvalidSettingsError, match=f"{file}: it is UTF-16 or no text at all: save it as plain text"):
        JoiningProperties.read(file)


def test_listeners_and_what_protects_them() -> None:
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="b" password="secret";'
    properties: dict[str, Any] = {
        **LEAST,
        "listeners": "INSIDE://[::]:9092",
        "advertised.listeners": "INSIDE://broker9:19092",
        "inter.broker.listener.name": "INSIDE",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "sasl.mechanism.controller.protocol": "SCRAM-SHA-512",
        "listener.name.controller.scram-sha-512.sasl.jaas.config": jaas,
        "cordoned.log.dirs": "*",
        "metadata.log.dir": "/apart",
    }
    taken = JoiningProperties.of(properties)
    (listener,) = taken.listeners
    assert (listener.name, listener.address) == ("INSIDE", Address("", 9092))
    assert listener.advertised == Address("broker9", 19092)
    assert taken.to_controllers.sasl == SaslSettings(SaslMechanism.SCRAM_SHA_512, "b", "secret")
    assert (taken.to_brokers.sasl, taken.to_brokers.tls) == (None, None)
    assert (taken.cordoned, taken.metadata_root) == (taken.roots, Path("/apart"))
    assert taken.passed_over == ()


SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
SEVERAL = {
    **LEAST,
    "listeners": "CLIENTS://:9094,brokers://:9092,SECRET://:9095",
    "advertised.listeners": "brokers://b:9092,CLIENTS://b.example:19094",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENTS:SASL_SSL,BROKERS:SASL_PLAINTEXT,SECRET:PLAINTEXT",
    "inter.broker.listener.name": "BROKERS",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "listener.name.brokers.scram-sha-512.sasl.jaas.config": f'{SCRAM} username="b" password="secret";',
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.brokers.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.clients.ssl.keystore.location": "clients.pem",
    "ssl.keystore.location": "all.pem",
    "max.connections": "5",
}


def test_each_of_several_listeners_has_its_address_and_its_own_settings() -> None:
    taken = JoiningProperties.of(SEVERAL)
    brokers, clients, secret = taken.listeners
    assert [each.name for each in taken.listeners] == ["BROKERS", "CLIENTS", "SECRET"]
    assert (brokers.address, brokers.advertised) == (Address("", 9092), Address("b", 9092))
    assert (clients.address, clients.advertised) == (Address("", 9094), Address("b.example", 19094))
    assert (brokers.is_advertised, clients.is_advertised, secret.is_advertised) == (True, True, False)
    assert brokers.sasl is not None
    assert clients.sasl is not None
    assert clients.tls is not None
    assert (brokers.tls, secret.tls, secret.sasl) == (None, None, None)
    assert brokers.sasl.mechanisms == (SaslMechanism.SCRAM_SHA_512,)
    assert clients.sasl.mechanisms == (SaslMechanism.SCRAM_SHA_256,)
    assert clients.tls.certificate == "clients.pem"
    assert taken.to_brokers.sasl == SaslSettings(SaslMechanism.SCRAM_SHA_512, "b", "secret")
    assert taken.broker.serving.limits.max_connections == 5
    assert taken.passed_over == ()


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("listener.name.brokers.sasl.enabled.mechanisms", "SCRAM-SHA-256", "enabled are SCRAM-SHA-256"),
        ("sasl.enabled.mechanisms", "PLAIN", "listener CLIENTS: sasl.users.file is missing: who may log in by PLAIN?"),
        ("sasl.enabled.mechanisms", "GSSAPI", "listener CLIENTS: sasl.enabled.mechanisms is 'GSSAPI'"),
        ("sasl.users.file", "/nowhere", "/nowhere: users cannot be read"),
        ("metrics.listener", "9095", "metrics.listener has port 9095, which clients are answered on"),
        ("sasl.mechanism.inter.broker.protocol", "PLAIN", "sasl.mechanism.inter.broker.protocol is 'PLAIN'"),
    ],
)
def test_what_does_not_fit_a_listener_is_said(name: str, value: str, fault: str) -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        JoiningProperties.of({**SEVERAL, name: value})
    assert fault in str(refused.value)


def test_all_that_is_wrong_with_several_listeners_is_said_at_once() -> None:
    changes = {
        "advertised.listeners": "OTHER://a:1",
        "inter.broker.listener.name": "NONE",
        "sasl.enabled.mechanisms": "X",
    }
    with pytest.raises(InvalidSettingsError) as refused:
        JoiningProperties.of({**SEVERAL, **changes})
    for fault in ("names OTHER, which listeners does not", "is NONE, and must be", "listener CLIENTS: sasl.enabled"):
        assert fault in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("process.roles", "controller", "must be broker"),
        ("process.roles", "broker,controller", "must be broker"),
        ("node.id", "", "node.id is ''"),
        ("broker.id", "10", "broker.id is '10', and node.id '9'"),
        ("broker.session.timeout.ms", "2000", "must be more than broker.heartbeat.interval.ms, which is 2000"),
        ("broker.heartbeat.interval.ms", "9000", "broker.session.timeout.ms is 9000, and must be more than"),
        ("log.dirs", "", "log.dirs is missing"),
        ("controller.quorum.voters", "", "where are the controllers"),
        ("controller.quorum.voters", "100@c1", "c1"),
        ("controller.listener.names", "", "controller.listener.names is missing"),
        ("listeners", "a:1", "must be of NAME://HOST:PORT"),
        ("listeners", "", "must be of NAME://HOST:PORT"),
        ("listeners", "PLAINTEXT://a:99999", "must be of NAME://HOST:PORT"),
        ("listeners", "PLAINTEXT://a:1,PLAINTEXT://a:2", "listeners has PLAINTEXT 2 times"),
        ("listeners", "PLAINTEXT://a:1,SSL://b:1", "listeners has port 1 for PLAINTEXT, SSL"),
        ("listeners", "SSL://a:1", "without inter.broker.listener.name it is PLAINTEXT"),
        ("listeners", "SSL://a:1", "listener.security.protocol.map has no protocol for CONTROLLER"),
        ("listeners", "PLAINTEXT://a:1,CONTROLLER://a:2", "names CONTROLLER, which listeners has"),
        ("listeners", "PLAINTEXT://0.0.0.0:1", "listeners, without advertised.listeners, has 0.0.0.0"),
        ("advertised.listeners", "PLAINTEXT://0.0.0.0:1", "advertised.listeners has 0.0.0.0 for PLAINTEXT"),
        ("advertised.listeners", "PLAINTEXT://a:1,SSL://a:1", "advertised.listeners names SSL, which listeners does"),
        ("inter.broker.listener.name", "OTHER", "inter.broker.listener.name is OTHER, and must be a listener that"),
        ("security.inter.broker.protocol", "NONE", "security.inter.broker.protocol is 'NONE'"),
        ("listener.security.protocol.map", "PLAINTEXT:GSSAPI,CONTROLLER:PLAINTEXT", "'GSSAPI' for PLAINTEXT"),
        ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT", "no protocol for CONTROLLER"),
        ("listener.security.protocol.map", "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT", "ssl.keystore.location is missing"),
        ("num.replica.fetchers", "0", "must be at least 1"),
        ("cordoned.log.dirs", "/three", "/three, which log.dirs does not"),
        ("authorizer.class.name", "com.example.Mine", "supported is org.apache.kafka.metadata"),
        ("log.retention.ms", "soon", "must be a whole number"),
        ("metrics.listener", "here", "metrics.listener: 'here' is not a [HOST:]PORT"),
        ("metrics.listener", "localhost:65536", "is not a [HOST:]PORT"),
        ("metrics.listener", "127.0.0.1:9092", "metrics.listener has port 9092, which clients are answered on"),
    ],
)
def test_what_is_wrong_is_said(name: str, value: str, fault: str) -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        JoiningProperties.of({**LEAST, name: value})
    assert fault in str(refused.value)


@given(st.sampled_from([name for name in KNOWN if len(name) > 10]), st.data())
def test_a_letter_too_few_is_seen(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    assert similar_names([name[:at] + name[at + 1 :]], KNOWN) == {name[:at] + name[at + 1 :]: name}


@pytest.mark.parametrize(
    "name",
    ["log.cleaner.threads", "num.network.threads", "log.flush.start.offset.checkpoint.interval.ms", "log.dir"],
)
def test_other_properties_of_kafkas_are_no_misspellings(name: str) -> None:
    assert misspelt([name]) == {}


def test_what_is_given_too_is_not_meant() -> None:
    assert misspelt(["metrics.listner", "metrics.listener"]) == {}
