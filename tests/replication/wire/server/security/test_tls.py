"""Listeners that encrypt: who is let in, and under which name."""

import logging
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import NameAttribute
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID, ObjectIdentifier

from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.client.security import SaslMechanism, TlsSettings
from replication.wire.client.security import SaslSettings as ClientSasl
from replication.wire.errors import InvalidSettingsError
from replication.wire.messages.fetch import FetchPartition, FetchRequest
from replication.wire.messages.metadata import Broker, ClusterMetadata, MetadataRequest
from replication.wire.server.call import Call
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.security.distinguished_name import subject_of
from replication.wire.server.security.sasl_authentication import SaslSettings
from replication.wire.server.security.server_tls import ClientAuth, ServerTls
from replication.wire.server.served_api import ServedApi
from replication.wire.server.server import Server
from tests.replication.wire.certificates import LIFETIME, Authority, Certificate
from tests.replication.wire.server.client import ANYWHERE, FETCH, ORDERS, Client, address_of, fetched
from tests.replication.wire.server.security.test_sasl import ALICE, SECRET, Users

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Certificate:
    return authority.issue("broker", "127.0.0.1")


@pytest.fixture(scope="module")
def alice(authority: Authority) -> Certificate:
    return authority.issue("alice", "alice.example")


@contextmanager
def _encrypting(broker: Certificate, *, sasl: SaslSettings | None = None, **options: Any) -> Iterator[Address]:
    tls = ServerTls(certificate=broker.certificate, key=broker.key, **options)
    with Server([ListenerSettings(name="SSL", address=ANYWHERE, tls=tls, sasl=sasl)]) as server:
        address = address_of(server)

        def metadata(_: Any, call: Call) -> ClusterMetadata:
            me = Broker(1, address.host, address.port)
            return ClusterMetadata(cluster_id=call.caller.principal, controller_id=1, brokers={1: me}, topics={})

        answer = fetched(bytes(range(256)) * (8 * MIB // 256))
        server.start({1: ServedApi(range(4, 13), lambda *_: answer), 3: ServedApi(range(14), metadata)})
        yield address


def _who(address: Address, tls: TlsSettings, sasl: ClientSasl | None = None) -> str | None:
    with Connection.open(address, ClientSettings(tls=tls, sasl=sasl)) as connection:
        found: ClusterMetadata = connection.ask(MetadataRequest(topics=()))
        return found.cluster_id


def test_a_client_without_a_certificate_is_anonymous(authority: Authority, broker: Certificate) -> None:
    with _encrypting(broker) as address:
        assert _who(address, TlsSettings(ca=authority.certificate)) == "User:ANONYMOUS"


@pytest.mark.parametrize("client_auth", [ClientAuth.REQUESTED, ClientAuth.REQUIRED])
def test_a_client_is_known_by_its_certificate(
    authority: Authority, broker: Certificate, alice: Certificate, client_auth: ClientAuth
) -> None:
    own = TlsSettings(ca=authority.certificate, certificate=alice.certificate, key=alice.key)
    with _encrypting(broker, client_auth=client_auth, client_ca=authority.certificate) as address:
        assert _who(address, own) == "User:CN=alice"


def test_a_certificate_may_be_asked_for_or_required(authority: Authority, broker: Certificate) -> None:
    none = TlsSettings(ca=authority.certificate)
    with _encrypting(broker, client_auth=ClientAuth.REQUESTED, client_ca=authority.certificate) as address:
        assert _who(address, none) == "User:ANONYMOUS"
    required = _encrypting(broker, client_auth=ClientAuth.REQUIRED, client_ca=authority.certificate)
    with required as address, pytest.raises(ConnectionError):
        _who(address, none)


@pytest.mark.parametrize("client_auth", [ClientAuth.REQUESTED, ClientAuth.REQUIRED])
def test_a_strangers_certificate_is_refused(
    authority: Authority, broker: Certificate, client_auth: ClientAuth, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stranger = Authority(tmp_path, "stranger").issue("mallory", "mallory.example")
    own = TlsSettings(ca=authority.certificate, certificate=stranger.certificate, key=stranger.key)
    listener = _encrypting(broker, client_auth=client_auth, client_ca=authority.certificate)
    with listener as address, pytest.raises(ConnectionError):
        _who(address, own)
    assert "certificate verify failed" in caplog.text


def test_a_login_counts_more_than_a_certificate(authority: Authority, broker: Certificate, alice: Certificate) -> None:
    own = TlsSettings(ca=authority.certificate, certificate=alice.certificate, key=alice.key)
    login = ClientSasl(SaslMechanism.SCRAM_SHA_256, ALICE, SECRET)
    asked = {"client_auth": ClientAuth.REQUIRED, "client_ca": authority.certificate}
    with _encrypting(broker, sasl=SaslSettings(users=Users()), **asked) as address:
        assert _who(address, own, login) == "User:alice"


def test_large_answers_come_whole(authority: Authority, broker: Certificate) -> None:
    settings = ClientSettings(tls=TlsSettings(ca=authority.certificate))
    with _encrypting(broker) as address, Connection.open(address, settings) as connection:
        records = connection.ask(FetchRequest(partitions={ORDERS: FetchPartition(0, MIB)})).partitions[ORDERS].records
        assert bytes(records) == bytes(range(256)) * (8 * MIB // 256)


def test_librdkafka_comes_by_tls_and_by_a_login(authority: Authority, broker: Certificate, alice: Certificate) -> None:
    common = {"ssl.ca.location": str(authority.certificate), "log_level": 0}
    files = {"ssl.certificate.location": str(alice.certificate), "ssl.key.location": str(alice.key)}
    with _encrypting(broker, client_auth=ClientAuth.REQUIRED, client_ca=authority.certificate) as address:
        admin = AdminClient({"bootstrap.servers": str(address), "security.protocol": "SSL", **common, **files})
        assert admin.list_topics(timeout=20).cluster_id == "User:CN=alice"
    login = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": ALICE, "sasl.password": SECRET}
    with _encrypting(broker, sasl=SaslSettings(users=Users())) as address:
        admin = AdminClient({"bootstrap.servers": str(address), "security.protocol": "SASL_SSL", **common, **login})
        assert admin.list_topics(timeout=20).cluster_id == "User:alice"


def test_who_speaks_no_tls_is_hung_up_on_and_told_once(broker: Certificate, caplog: pytest.LogCaptureFixture) -> None:
    with _encrypting(broker) as address:
        for _ in range(3):
            with Client(address) as client:
                client.send(FETCH)
                assert client.socket.recv(100) in {
                    b"",
                    b"\x15\x03\x03\x00\x02\x02\x46",
                    b"\x15\x03\x01\x00\x02\x02\x46",
                }
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "its security protocol must be SSL or SASL_SSL here" in told[0]


def test_a_client_that_is_silent_before_its_handshake_holds_nobody_up(
    authority: Authority, broker: Certificate
) -> None:
    with _encrypting(broker, handshake_timeout_ms=500) as address, Client(address) as silent:
        before = time.monotonic()
        assert _who(address, TlsSettings(ca=authority.certificate)) == "User:ANONYMOUS"
        assert silent.is_hung_up_on()
        assert 0.4 < time.monotonic() - before < 5


def test_a_stop_ends_a_handshake_and_a_reader_that_does_not_read(authority: Authority, broker: Certificate) -> None:
    context = ssl.create_default_context(cafile=authority.certificate)
    with _encrypting(broker) as address, Client(address), Client(address) as stuck:
        secure = context.wrap_socket(stuck.socket, server_hostname="127.0.0.1")
        secure.sendall(stuck.frame(FETCH) * 8)
        time.sleep(0.3)
        before = time.monotonic()
    assert time.monotonic() - before < 2
    secure.close()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"client_auth": ClientAuth.REQUIRED}, "ssl.client.auth is required: name the authorities"),
        ({"client_ca": "/nowhere.pem"}, "/nowhere.pem: not PEM certificates"),
        ({"key": "/nowhere.key"}, "not a PEM certificate with its private key"),
    ],
)
def test_files_that_cannot_be_used_are_named(broker: Certificate, options: dict[str, Any], reason: str) -> None:
    tls = ServerTls(**{"certificate": broker.certificate, "key": broker.key, **options})
    with pytest.raises(InvalidSettingsError, match=reason):
        Server([ListenerSettings(address=ANYWHERE, tls=tls)])


# --- names


_ISSUER = [NameAttribute(NameOID.COMMON_NAME, "issuer")]


def _certificate(*names: x509.RelativeDistinguishedName) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    subject = x509.Name(names)
    builder = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(x509.Name(_ISSUER)).public_key(key.public_key())
    )
    made = builder.serial_number(200).not_valid_before(now).not_valid_after(now + LIFETIME)
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def _name(*parts: tuple[ObjectIdentifier, str] | NameAttribute) -> x509.RelativeDistinguishedName:
    return x509.RelativeDistinguishedName(
        part if isinstance(part, NameAttribute) else NameAttribute(*part) for part in parts
    )


NAMES = {
    "plain": [
        _name((NameOID.COUNTRY_NAME, "DE")),
        _name((NameOID.STATE_OR_PROVINCE_NAME, "Berlin")),
        _name((NameOID.LOCALITY_NAME, "Berlin")),
        _name((NameOID.STREET_ADDRESS, "A Street 1")),
        _name((NameOID.ORGANIZATION_NAME, "Example")),
        _name((NameOID.ORGANIZATIONAL_UNIT_NAME, "Logs")),
        _name((NameOID.COMMON_NAME, "alice")),
        _name((NameOID.USER_ID, "a1")),
        _name((NameOID.DOMAIN_COMPONENT, "example")),
    ],
    "escaped": [_name((NameOID.COMMON_NAME, ' #a,b+c"d\\e<f>g;h=i  ')), _name((NameOID.ORGANIZATION_NAME, "#x"))],
    "umlauts": [_name((NameOID.COMMON_NAME, "Jürgen Groß 日本"))],
    "several in one": [_name((NameOID.ORGANIZATION_NAME, "O"), (NameOID.COMMON_NAME, "C"))],
    "others": [_name((NameOID.EMAIL_ADDRESS, "a@b.c")), _name((NameOID.SERIAL_NUMBER, "12"))],
    "other strings": [
        _name(NameAttribute(NameOID.COMMON_NAME, "bmp ü", _ASN1Type.BMPString)),
        _name(NameAttribute(NameOID.ORGANIZATION_NAME, "uni ü", _ASN1Type.UniversalString)),
    ],
}
JAVA = """
import java.io.*; import java.security.cert.*;
public class Subject {
    public static void main(String[] paths) throws Exception {
        var out = new PrintStream(System.out, true, "UTF-8");
        for (var path : paths) try (var in = new FileInputStream(path)) {
            var read = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
            out.println(read.getSubjectX500Principal().getName());
        }
    }
}
"""


def test_names_are_written_as_java_writes_them(tmp_path: Path) -> None:
    program = tmp_path / "Subject.java"
    program.write_text(JAVA)
    certificates = [_certificate(*names) for names in NAMES.values()]
    paths = [tmp_path / f"{number}.der" for number in range(len(certificates))]
    for path, certificate in zip(paths, certificates, strict=True):
        path.write_bytes(certificate)
    told = subprocess.run(["java", program, *paths], check=True, capture_output=True, encoding="utf-8").stdout
    assert list(map(subject_of, certificates)) == told.splitlines()


def test_a_name_is_told_from_the_last_part_to_the_first() -> None:
    assert subject_of(_certificate(*NAMES["plain"])) == (
        "DC=example,UID=a1,CN=alice,OU=Logs,O=Example,STREET=A Street 1,L=Berlin,ST=Berlin,C=DE"
    )


def test_what_is_no_certificate_is_refused() -> None:
    certificate = _certificate(*NAMES["plain"])
    for size in range(0, len(certificate), 7):
        with pytest.raises((ValueError, IndexError, StopIteration)):
            subject_of(certificate[:size])
