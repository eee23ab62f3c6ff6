"""SASL clients against the RFCs' examples and against a server that follows them."""

import base64
import hashlib
import hmac
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.client.sasl import MIN_ITERATIONS, SaslClient, sasl_client, scram
from replication.wire.client.security import SaslMechanism, SaslSettings
from replication.wire.errors import AuthenticationFailedError

PENCIL = SaslSettings(SaslMechanism.SCRAM_SHA_256, "user", "pencil")
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
HASHES = {SaslMechanism.SCRAM_SHA_256: "sha256", SaslMechanism.SCRAM_SHA_512: "sha512"}


def _finish(client: SaslClient, message: bytes) -> None:
    with pytest.raises(StopIteration):
        client.send(message)


def test_the_example_of_rfc_7677() -> None:
    client = scram(PENCIL, NONCE)
    assert next(client) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.send(SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    _finish(client, SERVER_FINAL)


def test_plain_sends_name_and_password_at_once() -> None:
    client = sasl_client(SaslSettings(SaslMechanism.PLAIN, "tim", "tanstaaftanstaaf"))
    assert next(client) == b"\0tim\0tanstaaftanstaaf"
    _finish(client, b"")


def test_plain_cannot_carry_a_zero_byte() -> None:
    with pytest.raises(AuthenticationFailedError, match="zero byte"):
        next(sasl_client(SaslSettings(SaslMechanism.PLAIN, "a\0b", "c")))


@given(
    st.sampled_from(list(HASHES)),
    st.text(min_size=1, max_size=20).filter(lambda name: "\0" not in name),
    st.text(min_size=1, max_size=20),
    st.binary(min_size=1, max_size=30),
)
def test_a_server_that_knows_the_password_is_content(
    mechanism: SaslMechanism, username: str, password: str, salt: bytes
) -> None:
    client = sasl_client(SaslSettings(mechanism, username, password))
    server = ScramServer(HASHES[mechanism], password, salt)
    first = server.first(next(client))
    assert server.username == username
    _finish(client, server.final(client.send(first)))


def test_every_nonce_is_another() -> None:
    firsts = {next(sasl_client(PENCIL)) for _ in range(100)}
    assert len(firsts) == 100


@pytest.mark.parametrize(
    ("server_first", "reason"),
    [
        (SERVER_FIRST.replace(b"r=rOpr", b"r=rOps"), "nonce does not continue ours"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce does not continue ours"),
        (b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce does not continue ours"),
        (SERVER_FIRST.replace(b"i=4096", b"i=4095"), "'4095' iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=100000000"), "'100000000' iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=-4096"), "'-4096' iterations"),
        (SERVER_FIRST.replace(b",i=4096", b""), "'' iterations"),
        (SERVER_FIRST.replace(b"s=W22ZaJ0SNY7soEsUEjb6gQ==", b"s=W22*"), "not in base64"),
        (SERVER_FIRST.replace(b"s=W22ZaJ0SNY7soEsUEjb6gQ==", b"s="), "no salt"),
        (b"m=ext," + SERVER_FIRST, "extension"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "nonce"),
    ],
)
def test_a_first_message_that_cannot_be_trusted(server_first: bytes, reason: str) -> None:
    client = scram(PENCIL, NONCE)
    next(client)
    with pytest.raises(AuthenticationFailedError, match=reason):
        client.send(server_first)


@pytest.mark.parametrize(
    ("server_final", "reason"),
    [
        (SERVER_FINAL.replace(b"v=6", b"v=7"), "does not prove that it knows the password"),
        (b"v=", "does not prove that it knows the password"),
        (b"", "does not prove that it knows the password"),
        (b"v=*", "not in base64"),
        (b"e=invalid-proof", "the broker says invalid-proof"),
    ],
)
def test_a_server_that_does_not_prove_to_know_the_password(server_final: bytes, reason: str) -> None:
    client = scram(PENCIL, NONCE)
    next(client)
    client.send(SERVER_FIRST)
    with pytest.raises(AuthenticationFailedError, match=reason):
        client.send(server_final)


@given(st.binary(max_size=80), st.sampled_from([lambda data: data, lambda data: b"r=" + NONCE.encode() + data]))
def test_any_bytes_are_refused_with_one_error(data: bytes, made: Callable[[bytes], bytes]) -> None:
    client = scram(PENCIL, NONCE)
    next(client)
    with pytest.raises(AuthenticationFailedError):
        client.send(made(data))


def test_the_password_is_never_shown() -> None:
    assert "pencil" not in repr(PENCIL)


class ScramServer:
    """The server's half of RFC 5802."""

    def __init__(self, digest: str, password: str, salt: bytes) -> None:
        self._digest = digest
        self._salt = salt
        self._salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, MIN_ITERATIONS)

    def first(self, message: bytes) -> bytes:
        header, self._client_first = message.decode().split(",,", 1)
        assert header == "n"
        name, nonce = self._client_first.split(",")
        self.username = name.removeprefix("n=").replace("=2C", ",").replace("=3D", "=")
        self._nonce = nonce.removeprefix("r=") + "server"
        salt = base64.b64encode(self._salt).decode()
        self._first = f"r={self._nonce},s={salt},i={MIN_ITERATIONS}"
        return self._first.encode()

    def final(self, message: bytes) -> bytes:
        without_proof, proof = message.decode().rsplit(",p=", 1)
        assert without_proof == f"c=biws,r={self._nonce}"
        signed = f"{self._client_first},{self._first},{without_proof}".encode()
        client_key = hmac.digest(self._salted, b"Client Key", self._digest)
        signature = hmac.digest(hashlib.new(self._digest, client_key).digest(), signed, self._digest)
        proven = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
        assert proven == client_key
        server_key = hmac.digest(self._salted, b"Server Key", self._digest)
        return b"v=" + base64.b64encode(hmac.digest(server_key, signed, self._digest))
