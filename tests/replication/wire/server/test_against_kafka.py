"""What a real broker answers, and when it hangs up, beside what ours does with the same bytes."""

import socket
from collections.abc import Iterator

import pytest

from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.security.sasl_authentication import SaslSettings
from replication.wire.server.server import Server
from tests.oracle.release import KafkaRelease
from tests.replication.wire.secure_broker import SecureBroker
from tests.replication.wire.server.client import ANYWHERE, apis
from tests.replication.wire.server.security.test_sasl import Users

SECONDS = 20
HEADER = "0000002a 0006 746573746572"
"""Of the correlation id 42, and the client tester."""
METADATA, API_VERSIONS, SASL_HANDSHAKE = "0003", "0012", "0011"

FRAMES = {
    "no API": ["7fff 0000 " + HEADER],
    "a negative API": ["ffff 0000 " + HEADER],
    "an API that was removed": ["0004 0000 " + HEADER],
    "Metadata in a version to come": ["0003 0063 " + HEADER + "00"],
    "Fetch in a version that is gone": ["0001 0003 " + HEADER],
    "Metadata that ends early": ["0003 0004 " + HEADER + "0000"],
    "Metadata with an absurd count": ["0003 0004 " + HEADER + "7fffffff 00"],
    "Metadata without a client": ["0003 0004 0000002a ffff 00000000 00"],
    "Metadata with more behind it": ["0003 0004 " + HEADER + "00000000 00 ffffff"],
    "a header that ends early": ["0003 00"],
    "an empty frame": [""],
    "ApiVersions in a version to come": ["0012 0063 " + HEADER + "00"],
    "ApiVersions in a version below all": ["0012 ffff " + HEADER],
    "ApiVersions of improper software": ["0012 0003 " + HEADER + "00 03 2d61 02 31 00"],
    "ApiVersions without software": ["0012 0003 " + HEADER + "00 01 01 00"],
    "SaslHandshake": ["0011 0001 " + HEADER + "0005 504c41494e"],
    "SaslAuthenticate": ["0024 0001 " + HEADER + "00000000"],
    "SaslAuthenticate in version 2": ["0024 0002 " + HEADER + "00 01 00"],
    "two at once": ["0024 0001 " + HEADER + "00000000", "0011 0000 " + HEADER + "0005 504c41494e"],
}
"""On a listener without logins."""

_PLAIN = "0011 0001 " + HEADER + "0005 504c41494e"
_VERSIONS = "0012 0000 " + HEADER
_RIGHT = "00 616c696365 00 616c6963652d736563726574"
_WRONG = "00 616c696365 00 616c6963652d736563726575"
CHALLENGE = b"r=abcdef".hex()
"""It begins a server's first words of SCRAM, which differ each time."""


def _handshake(mechanism: str, version: int = 1) -> str:
    return f"0011 {version:04x} {HEADER} {len(mechanism):04x}{mechanism.encode().hex()}"


def _token(token: bytes | str, version: int = 0) -> str:
    words = bytes.fromhex(token) if isinstance(token, str) else token
    return f"0024 {version:04x} {HEADER} {len(words):08x}{words.hex()}"


_SCRAM = _handshake("SCRAM-SHA-256")
_LOGIN = [_PLAIN, _token(_RIGHT, 1)]
LOGINS = {
    "Metadata before a login": ["0003 0004 " + HEADER + "00000000 00"],
    "a token before a handshake": ["0024 0001 " + HEADER + "00000014" + _RIGHT],
    "no mechanism of this listener": ["0011 0001 " + HEADER + "0006 475353415049"],
    "the right password": [_PLAIN, "0024 0000 " + HEADER + "00000013" + _RIGHT],
    "a wrong password": [_PLAIN, "0024 0000 " + HEADER + "00000013" + _WRONG],
    "a wrong password, in version 2": [_PLAIN, "0024 0002 " + HEADER + "00 14" + _WRONG + "00"],
    "tokens by themselves": ["0011 0000 " + HEADER + "0005 504c41494e", _RIGHT],
    "a wrong token by itself": ["0011 0000 " + HEADER + "0005 504c41494e", _WRONG],
    "versions in an unknown version, then a handshake": ["0012 0063 " + HEADER + "00", _PLAIN],
    "versions, then a login": [_VERSIONS, *_LOGIN],
    "versions twice": [_VERSIONS, _VERSIONS],
    "versions in the middle": [_PLAIN, _VERSIONS],
    "versions in the middle, in an unknown version": [_PLAIN, "0012 0063 " + HEADER + "00"],
    "a handshake in the middle": [_PLAIN, _PLAIN],
    "a handshake in the middle, in version 0": [_PLAIN, _handshake("PLAIN", 0)],
    "a handshake of no mechanism in the middle": [_PLAIN, _handshake("NONE")],
    "no API in the middle": [_PLAIN, "7fff 0000 " + HEADER],
    "a token in an unknown version": [_PLAIN, "0024 0063 " + HEADER + "00 14" + _RIGHT + "00"],
    "a handshake in an unknown version": [_handshake("PLAIN", 9)],
    "no mechanism in version 0": [_handshake("GSSAPI", 0)],
    "an empty mechanism": [_handshake("")],
    "a mechanism in small letters": [_handshake("plain")],
    "a token that ends early": [_PLAIN, "0024 0000 " + HEADER + "00000050 00"],
    "a token with a header after a handshake of version 0": [_handshake("PLAIN", 0), _token(_RIGHT)],
    "PLAIN, empty": [_PLAIN, _token(b"")],
    "PLAIN without a password": [_PLAIN, _token(b"\0alice\0")],
    "PLAIN without a name": [_PLAIN, _token(b"\0\0secret")],
    "PLAIN with more": [_PLAIN, _token(b"\0alice\0alice-secret\0more")],
    "PLAIN in another's name": [_PLAIN, _token(b"bob\0alice\0alice-secret")],
    "PLAIN not in UTF-8": [_PLAIN, _token(b"\0\xff\0alice-secret")],
    "PLAIN of nobody": [_PLAIN, _token(b"\0bob\0alice-secret")],
    "SCRAM, no message": [_SCRAM, _token(b"hello")],
    "SCRAM with channel binding": [_SCRAM, _token(b"p=tls-unique,,n=alice,r=abcdef")],
    "SCRAM without a nonce": [_SCRAM, _token(b"n,,n=alice")],
    "SCRAM in another's name": [_SCRAM, _token(b"n,a=bob,n=alice,r=abcdef")],
    "SCRAM with a wrong proof": [_SCRAM, _token(b"n,,n=alice,r=abcdef"), _token(b"c=biws,r=abcdef,p=AAAA")],
    "SCRAM, no last message": [_SCRAM, _token(b"n,,n=alice,r=abcdef"), _token(b"hello")],
    "SCRAM by itself, no message": [_handshake("SCRAM-SHA-256", 0), b"hello".hex()],
    "a token after a login": [*_LOGIN, _token(_RIGHT, 1)],
    "a login again": [*_LOGIN, *_LOGIN],
    "a login again, and again at once": [*_LOGIN, *_LOGIN, *_LOGIN],
    "a wrong password again": [*_LOGIN, _PLAIN, _token(_WRONG, 1)],
    "versions in the middle of a login again": [*_LOGIN, _PLAIN, _VERSIONS],
}
"""On one with them."""
STRICTER = {
    "a count below that of null, which Kafka takes for null": (
        "PLAINTEXT",
        ["0003 0004 " + HEADER + "fffffffe 00"],
    ),
    "a request that no connection begins by in the middle of a login, which Kafka answers with its error first": (
        "SASL_PLAINTEXT",
        [_PLAIN, "0003 0004 " + HEADER + "00000000 00"],
    ),
}
"""Where ours hangs up at once, and Kafka answers."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[SecureBroker]:
    with SecureBroker(tmp_path_factory.mktemp("broker"), release) as broker:
        yield broker


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    sasl = SaslSettings(users=Users(), connections_max_reauth_ms=3_600_000)
    listeners = [
        ListenerSettings(address=ANYWHERE),
        ListenerSettings(name="SASL_PLAINTEXT", address=ANYWHERE, sasl=sasl),
    ]
    with Server(listeners) as server:
        server.start(apis())
        yield server


def _said(address: Address, frames: list[str]) -> list[str]:
    """What is answered to each frame, or how it ends."""
    told = []
    with socket.create_connection(address, SECONDS) as connection, connection.makefile("rb") as answers:
        for frame in map(bytes.fromhex, frames):
            try:
                connection.sendall(len(frame).to_bytes(4, "big") + frame)
                size = answers.read(4)
                told.append(answers.read(int.from_bytes(size, "big")).hex() if size else "hung up")
            except ConnectionError:
                told.append("hung up")
    return told


@pytest.mark.parametrize("what", FRAMES)
def test_on_a_listener_without_logins(broker: SecureBroker, server: Server, what: str) -> None:
    frames = FRAMES[what]
    theirs, ours = (_said(at["PLAINTEXT"], frames) for at in (broker.addresses, server.addresses))
    assert _comparable(ours, frames) == _comparable(theirs, frames)


@pytest.mark.parametrize("what", LOGINS)
def test_on_a_listener_with_logins(broker: SecureBroker, server: Server, what: str) -> None:
    frames = [*LOGINS[what], _VERSIONS]
    theirs, ours = (_said(at["SASL_PLAINTEXT"], frames) for at in (broker.addresses, server.addresses))
    assert _comparable(ours, frames) == _comparable(theirs, frames)


def _comparable(told: list[str], frames: list[str]) -> list[str]:
    """Leave out what differs by what is set up: the cluster, the versions of a release, the mechanisms."""
    return [_shortened(answer, frame[:4]) for answer, frame in zip(told, frames, strict=True)]


def _shortened(answer: str, api: str) -> str:
    if CHALLENGE in answer:
        return CHALLENGE
    of_versions = 12 if answer[8:12] == "0000" else 28
    hexadecimals = {METADATA: 8, API_VERSIONS: of_versions, SASL_HANDSHAKE: 12}.get(api, len(answer))
    return answer[:hexadecimals]


@pytest.mark.parametrize("what", STRICTER)
def test_where_ours_is_stricter(broker: SecureBroker, server: Server, what: str) -> None:
    listener, frames = STRICTER[what]
    theirs, ours = (_said(at[listener], frames) for at in (broker.addresses, server.addresses))
    assert theirs[-1] != "hung up" == ours[-1]
