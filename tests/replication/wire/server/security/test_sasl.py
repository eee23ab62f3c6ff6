"""Logins, right and wrong, by our client, by others, and by hand."""

import asyncio
import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka import KafkaConsumer

from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.client.sasl import sasl_client
from replication.wire.client.security import SaslMechanism
from replication.wire.client.security import SaslSettings as ClientSasl
from replication.wire.encoding.headers import RequestHeader, write_request_header
from replication.wire.encoding.kio_messages import read as read_by_kio
from replication.wire.encoding.kio_messages import request_class, request_classes, response_class
from replication.wire.encoding.kio_messages import write as write_by_kio
from replication.wire.error_code import ErrorCode
from replication.wire.errors import AuthenticationFailedError
from replication.wire.messages.metadata import Broker, ClusterMetadata, MetadataRequest
from replication.wire.server.call import Call, Caller
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.conversation import Conversation
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.offered_versions import OfferedVersions
from replication.wire.server.security.sasl_authentication import SaslAuthentication, SaslSettings
from replication.wire.server.security.sasl_server import LoginRefusedError, sasl_server, scram
from replication.wire.server.security.scram_credential import ScramCredential
from replication.wire.server.security.users import Users as KnownUsers
from replication.wire.server.security.users import UsersFile
from replication.wire.server.served_api import ServedApi
from replication.wire.server.server import Server
from tests.replication.wire.server.client import ANYWHERE, QUESTION, Client, address_of

ALICE, SECRET = "alice", "alice-secret"


class Users(KnownUsers):
    """alice alone."""

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        if name == ALICE:
            return ScramCredential.of(SECRET, digest or "sha256", b"alice's salt")
        return ScramCredential.of_nobody(digest or "sha256", b"nobody's salt")


class Pencil:
    """The user of RFC 7677."""

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        assert (name, digest) == ("user", "sha256")
        return ScramCredential.of("pencil", "sha256", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))


def test_the_example_of_rfc_7677() -> None:
    server = scram(Pencil(), "sha256", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    next(server)
    assert server.send(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    with pytest.raises(StopIteration) as end:
        server.send(
            b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        )
    assert end.value.value == ("user", b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@settings(deadline=None)
@given(
    st.sampled_from(SaslMechanism),
    st.text(min_size=1, max_size=20).filter(lambda name: "\0" not in name),
    st.text(min_size=1, max_size=20).filter(lambda name: "\0" not in name),
)
def test_our_client_and_our_server_agree(mechanism: SaslMechanism, name: str, password: str) -> None:
    class One:
        def credential(self, asked: str, digest: str | None) -> ScramCredential:
            assert asked == name
            return ScramCredential.of(password, digest or "sha512", b"salt")

    client = sasl_client(ClientSasl(mechanism, name, password))
    server = sasl_server(mechanism, One())
    next(server)
    said = next(client)
    while True:
        try:
            said = client.send(server.send(said))
        except StopIteration as end:
            if end.value is not None:
                login = end.value
                break
    assert login.username == name
    with pytest.raises(StopIteration):
        client.send(login.last)


@pytest.mark.parametrize("mechanism", SaslMechanism)
@settings(deadline=None)
@given(message=st.binary(max_size=60) | st.sampled_from([b"n,,n=alice,r=", b"n,,n==,r=x", b"p=tls,,n=alice,r=x"]))
def test_what_is_no_message_of_the_mechanism_is_refused(mechanism: SaslMechanism, message: bytes) -> None:
    server = sasl_server(mechanism, Users())
    next(server)
    with pytest.raises(LoginRefusedError):
        server.send(message)


@pytest.mark.parametrize("final", [b"", b"p=", b"c=biws,r=x,p=AAAA", b"c=eSws,r=NONCE,p=PROOF", b"c=biws,r=NONCE,p=!"])
def test_a_proof_that_is_none_is_refused(final: bytes) -> None:
    server = sasl_server(SaslMechanism.SCRAM_SHA_256, Users())
    next(server)
    first = server.send(b"n,,n=alice,r=abc").split(b",")[0][2:]
    with pytest.raises(LoginRefusedError):
        server.send(final.replace(b"NONCE", first).replace(b"PROOF", b"A" * 43 + b"="))


# --- over sockets


@contextmanager
def _logging_in(**options: Any) -> Iterator[Address]:
    options = {"users": Users(), "connection_failed_authentication_delay_ms": 200} | options
    with Server([ListenerSettings(name="SASL", address=ANYWHERE, sasl=SaslSettings(**options))]) as server:
        address = address_of(server)

        def metadata(_: Any, call: Call) -> ClusterMetadata:
            broker = Broker(1, address.host, address.port)
            return ClusterMetadata(cluster_id=call.caller.principal, controller_id=1, brokers={1: broker}, topics={})

        server.start({3: ServedApi(range(14), metadata)})
        yield address


@pytest.mark.parametrize("mechanism", SaslMechanism)
def test_our_client_logs_in_and_is_known_by_its_name(mechanism: SaslMechanism) -> None:
    client = ClientSettings(sasl=ClientSasl(mechanism, ALICE, SECRET))
    with _logging_in() as address, Connection.open(address, client) as connection:
        assert connection.ask(MetadataRequest(topics=())).cluster_id == "User:alice"


@pytest.mark.parametrize("mechanism", SaslMechanism)
@pytest.mark.parametrize(("name", "password"), [(ALICE, "wrong"), ("mallory", SECRET)])
def test_a_wrong_password_and_an_unknown_name_are_refused_alike_and_late(
    mechanism: SaslMechanism, name: str, password: str
) -> None:
    client = ClientSettings(sasl=ClientSasl(mechanism, name, password))
    with _logging_in() as address:
        before = time.monotonic()
        with pytest.raises(AuthenticationFailedError, match=r"[Ii]nvalid (username or password|credentials)"):
            Connection.open(address, client).close()
        assert time.monotonic() - before > 0.2


@pytest.mark.parametrize("mechanism", SaslMechanism)
def test_librdkafka_logs_in(mechanism: SaslMechanism) -> None:
    with _logging_in() as address:
        admin = _admin(address, mechanism, SECRET)
        assert list(admin.list_topics(timeout=20).brokers) == [1]


@pytest.mark.parametrize("mechanism", SaslMechanism)
def test_aiokafka_logs_in(mechanism: SaslMechanism) -> None:
    async def brokers(address: Address) -> list[int]:
        client = AIOKafkaClient(
            bootstrap_servers=str(address),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism.value,
            sasl_plain_username=ALICE,
            sasl_plain_password=SECRET,
        )
        await client.bootstrap()
        try:
            return [broker.nodeId for broker in client.cluster.brokers()]
        finally:
            await client.close()

    with _logging_in() as address:
        assert asyncio.run(brokers(address)) == [1]


@pytest.mark.parametrize("mechanism", SaslMechanism)
def test_kafka_python_logs_in(mechanism: SaslMechanism) -> None:
    with _logging_in() as address:
        consumer = KafkaConsumer(
            bootstrap_servers=str(address),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism.value,
            sasl_plain_username=ALICE,
            sasl_plain_password=SECRET,
        )
        assert consumer.topics() == set()
        consumer.close()


@pytest.mark.parametrize("mechanism", SaslMechanism)
def test_librdkafka_with_a_wrong_password_is_told_so(mechanism: SaslMechanism) -> None:
    told: list[str] = []
    with _logging_in() as address:
        admin = _admin(address, mechanism, "wrong", error_cb=lambda error: told.append(str(error)))
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=2)
        admin.poll(1)
    assert any("uthentication" in reason for reason in told)


def _admin(address: Address, mechanism: SaslMechanism, password: str, **more: Any) -> AdminClient:
    return AdminClient(
        {
            "bootstrap.servers": str(address),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism.value,
            "sasl.username": ALICE,
            "sasl.password": password,
            "log_level": 0,
            **more,
        }
    )


def test_librdkafka_logs_in_anew_before_its_time_is_over() -> None:
    with _logging_in(connections_max_reauth_ms=1_500) as address:
        told: list[str] = []
        admin = _admin(address, SaslMechanism.PLAIN, SECRET, error_cb=lambda error: told.append(str(error)))
        for _ in range(8):
            assert admin.list_topics(timeout=20).cluster_id == "User:alice"
            time.sleep(0.5)
        assert not told


def test_without_a_login_nothing_else_is_answered() -> None:
    with _logging_in() as address, Client(address) as client:
        client.send(QUESTION)
        assert client.is_hung_up_on()


def test_before_a_login_requests_are_small() -> None:
    client = ClientSettings(sasl=ClientSasl(SaslMechanism.PLAIN, ALICE, SECRET))
    large = MetadataRequest(topics=("t" * 100,) * 10)
    with _logging_in(sasl_server_max_receive_size=500) as address:
        with Connection.open(address, client) as connection:
            assert connection.ask(large).cluster_id == "User:alice"
        with Client(address) as stranger:
            stranger.socket.sendall((501).to_bytes(4, "big"))
            assert stranger.is_hung_up_on()


def test_a_listener_takes_users_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "users.json"
    path.write_text('{"bob": {"password": "bob-secret"}}')
    client = ClientSettings(sasl=ClientSasl(SaslMechanism.SCRAM_SHA_512, "bob", "bob-secret"))
    with _logging_in(users=UsersFile(path)) as address, Connection.open(address, client) as connection:
        assert connection.ask(MetadataRequest(topics=())).cluster_id == "User:bob"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("epochlog-SASL")]


# --- by hand


class Talk:
    """A conversation with a clock of its own."""

    def __init__(self, **options: Any) -> None:
        self.now = 0.0
        self.authentication = SaslAuthentication(
            Caller("192.0.2.1"), SaslSettings(users=Users(), **options), lambda: self.now
        )
        self._conversation = Conversation(
            {3: ServedApi(range(13), lambda *_: None)}, OfferedVersions({}), self.authentication
        )

    def ask(self, key: int, version: int, **fields: Any) -> Any:
        kind = request_class(key, version)
        flexible = version >= {17: 99, 36: 2, 3: 9}[key]
        header = write_request_header(RequestHeader(key, version, 7, "tester"), flexible=flexible)
        request = getattr(request_classes(key, version), kind.__name__)(**fields)
        try:
            parts = self._conversation.receive(memoryview(header + write_by_kio(request)))
        except HangUpError as error:
            error.args = (*error.args, self._read(key, version, error.parts))
            raise
        return self._read(key, version, parts)

    def raw(self, token: bytes) -> bytes:
        parts = self._conversation.receive(memoryview(token))
        assert isinstance(parts, list)
        return b"".join(parts)

    def question(self) -> None:
        assert self.ask(3, 4, topics=(), allow_auto_topic_creation=False) is None

    def plain(self, version: int = 1, password: str = SECRET, name: str = ALICE) -> Any:
        self.ask(17, 1, mechanism="PLAIN")
        return self.ask(36, version, auth_bytes=f"\0{name}\0{password}".encode())

    @staticmethod
    def _read(key: int, version: int, parts: Any) -> Any:
        data = b"".join(parts)[8 + (key == 36 and version == 2) :]
        return read_by_kio(response_class(key, version), data) if data else None


@pytest.mark.parametrize("version", range(3))
def test_a_session_ends_in_its_time_unless_it_is_renewed(version: int) -> None:
    talk = Talk(connections_max_reauth_ms=10_000)
    answer = talk.plain(version)
    assert answer.error_code == ErrorCode.NONE
    if version > 0:
        assert answer.session_lifetime.total_seconds() == 10
    talk.now = 9.9
    talk.question()
    talk.plain(version)
    talk.now = 19.8
    talk.question()
    talk.now = 19.9
    with pytest.raises(HangUpError, match="the login of alice has ended"):
        talk.question()
    talk.plain(version)
    talk.question()


def test_a_login_has_no_end_by_default() -> None:
    talk = Talk()
    assert talk.plain().session_lifetime.total_seconds() == 0
    talk.now = 1e9
    talk.question()


def test_who_has_logged_in_cannot_become_another() -> None:
    class Anybody:
        def credential(self, _: str, digest: str | None) -> ScramCredential:
            return ScramCredential.of(SECRET, digest or "sha256", b"salt")

    talk = Talk()
    talk.authentication._settings = SaslSettings(users=Anybody(), connections_max_reauth_ms=10_000)  # type: ignore[misc]
    talk.plain()
    with pytest.raises(HangUpError, match="alice cannot become bob") as error:
        talk.plain(name="bob")
    assert error.value.args[1].error_message.startswith("Cannot change principals")
    assert talk.authentication.caller.principal == "User:alice"


def test_who_has_logged_in_by_one_mechanism_renews_it_by_that_one() -> None:
    talk = Talk(connections_max_reauth_ms=10_000)
    talk.plain()
    with pytest.raises(HangUpError, match="alice has logged in by another mechanism than SCRAM-SHA-256"):
        talk.ask(17, 1, mechanism="SCRAM-SHA-256")


def test_nothing_is_answered_while_a_login_is_renewed() -> None:
    talk = Talk(connections_max_reauth_ms=10_000)
    talk.plain()
    talk.ask(17, 1, mechanism="PLAIN")
    with pytest.raises(HangUpError, match="before the login was done"):
        talk.question()


def test_a_login_that_lasts_for_ever_is_not_renewed() -> None:
    talk = Talk()
    talk.plain()
    assert talk.ask(17, 1, mechanism="PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    talk.question()


def test_a_login_is_renewed_once_a_second_at_most() -> None:
    talk = Talk(connections_max_reauth_ms=10_000)
    talk.plain()
    for seconds, code in ((0.0, ErrorCode.NONE), (0.9, ErrorCode.ILLEGAL_SASL_STATE), (1.0, ErrorCode.NONE)):
        talk.now = seconds
        assert talk.ask(17, 1, mechanism="PLAIN").error_code == code
        if code is ErrorCode.NONE:
            assert talk.ask(36, 1, auth_bytes=b"\0alice\0alice-secret").error_code == code
    talk.question()


def test_a_mechanism_that_is_not_offered_is_refused_with_those_that_are() -> None:
    talk = Talk(mechanisms=(SaslMechanism.SCRAM_SHA_512,))
    with pytest.raises(HangUpError, match="'PLAIN' is asked for, not SCRAM-SHA-512") as error:
        talk.ask(17, 1, mechanism="PLAIN")
    answer = error.value.args[1]
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("SCRAM-SHA-512",))


@pytest.mark.parametrize("version", range(3))
def test_a_refusal_comes_with_its_answer(version: int) -> None:
    with pytest.raises(HangUpError) as error:
        Talk().plain(version, "wrong")
    assert error.value.args[1].error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert error.value.args[1].error_message == "Authentication failed: Invalid username or password"
    assert error.value.delay_seconds == 0.1


def test_after_a_handshake_of_version_0_tokens_come_by_themselves() -> None:
    talk = Talk()
    talk.ask(17, 0, mechanism="PLAIN")
    assert talk.raw(b"\0alice\0alice-secret") == bytes(4)
    talk.question()
    talk = Talk()
    talk.ask(17, 0, mechanism="PLAIN")
    with pytest.raises(HangUpError) as error:
        talk.raw(b"\0alice\0wrong")
    assert error.value.parts == []


def test_a_login_that_was_not_begun_cannot_go_on() -> None:
    with pytest.raises(HangUpError, match="before SaslHandshake"):
        Talk().ask(36, 1, auth_bytes=b"")
    talk = Talk()
    talk.plain()
    assert talk.ask(36, 1, auth_bytes=b"").error_code == ErrorCode.ILLEGAL_SASL_STATE


@pytest.mark.parametrize("pause", [0.02, None])
def test_a_login_that_takes_too_long_is_cut_however_much_comes_meanwhile(pause: float | None) -> None:
    sasl = SaslSettings(users=Users(), login_seconds=0.5)
    with Server([ListenerSettings(name="SASL", address=ANYWHERE, sasl=sasl)]) as server:
        server.start({})
        with Client(server.addresses["SASL"]) as client:
            client.socket.sendall((400_000).to_bytes(4, "big"))
            with suppress(ConnectionError):
                for _ in range(2_000):
                    if pause is None:
                        break
                    client.socket.sendall(b"x")
                    time.sleep(pause)
            assert client.is_hung_up_on()
