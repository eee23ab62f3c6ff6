"""Trust stores and key stores that keytool made, on both ends of real TLS; and what cannot be read."""

import socket
import ssl
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.client.java_store import JavaStore
from replication.wire.client.jks import JksStore, MalformedStoreError
from replication.wire.client.security import TlsSettings
from replication.wire.errors import InvalidSettingsError
from tests.replication.wire.certificates import Authority
from tests.replication.wire.java_stores import PASSWORD, key_store, keytool, trust_store

KINDS = ("PKCS12", "JKS")
KEY_PASSWORD = "key-secret"  # noqa: S105 - nobody's
SECONDS = 20


class Stores:
    """An authority, and by kind a trust store of it and a key store with a certificate that it signed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority, self.stranger = Authority(directory, "authority"), Authority(directory, "stranger")
        self.own = self.authority.issue("client", "client.example")
        self.broker = self.authority.issue("broker", "127.0.0.1")
        self.trust: dict[str, Path] = {}
        self.key: dict[str, Path] = {}
        for kind in KINDS:
            trusted = (self.stranger.certificate, self.authority.certificate)
            self.trust[kind] = trust_store(directory / f"trust.{kind}", kind, *trusted)
            self.key[kind] = key_store(directory / f"key.{kind}", kind, self.own, self.key_password(kind))

    @staticmethod
    def key_password(kind: str) -> str:
        """keytool gives each key of a JKS a password of its own, and in PKCS12 none but the store's."""
        return KEY_PASSWORD if kind == "JKS" else PASSWORD

    def settings(self, kind: str) -> TlsSettings:
        return TlsSettings(
            trust_store=JavaStore(self.trust[kind], PASSWORD),
            key_store=JavaStore(self.key[kind], PASSWORD, self.key_password(kind)),
        )


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"))


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> object:
    """Connect by TLS on loopback; return the subject of the client's certificate, as the server sees it."""
    seen: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            stream, _ = listener.accept()
            stream.settimeout(SECONDS)
            with server.wrap_socket(stream, server_side=True) as secured:
                secured.sendall(b"hello")
                certificate = secured.getpeercert() or {}
                seen.append(certificate.get("subject"))

        serving = threading.Thread(target=serve)
        serving.start()
        with socket.create_connection(listener.getsockname(), SECONDS) as stream:
            secured = client.wrap_socket(stream, server_hostname="127.0.0.1")
            assert secured.recv(5) == b"hello"
            secured.close()
        serving.join(SECONDS)
    return seen[0]


@pytest.mark.parametrize("kind", KINDS)
def test_each_side_takes_the_others_certificate(stores: Stores, kind: str) -> None:
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=stores.authority.certificate)
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_cert_chain(stores.broker.both)
    assert shake_hands(stores.settings(kind).context(), server) == ((("commonName", "client"),),)


@pytest.mark.parametrize("kind", KINDS)
def test_all_certificates_of_a_trust_store_are_trusted_and_no_other(stores: Stores, kind: str) -> None:
    trusted = stores.settings(kind).context().get_ca_certs()
    assert {certificate["subject"] for certificate in trusted} == {
        ((("commonName", name),),) for name in ("authority", "stranger")
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_in_a_trust_store_is_trusted_though_another_signed_it(
    stores: Stores, kind: str, tmp_path: Path
) -> None:
    store = trust_store(tmp_path / "leaf", kind, stores.broker.certificate)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(stores.broker.both)
    assert shake_hands(TlsSettings(trust_store=JavaStore(store, PASSWORD)).context(), server) is None


def test_keys_and_certificates_that_keytool_made_itself(tmp_path: Path) -> None:
    for kind, algorithm in (("PKCS12", "RSA"), ("JKS", "EC")):
        path = tmp_path / kind
        names = ("-dname", "CN=self", "-ext", "san=ip:127.0.0.1")
        keytool("-genkeypair", "-keyalg", algorithm, *names, "-keystore", path, "-storetype", kind, "-storepass",
                PASSWORD, "-keypass", PASSWORD)  # fmt: skip
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        JavaStore(path, PASSWORD).load_into(server)
        pem = tmp_path / f"{kind}.pem"
        keytool("-exportcert", "-rfc", "-keystore", path, "-storepass", PASSWORD, "-alias", "mykey", "-file", pem)
        trusted = trust_store(tmp_path / f"trust.{kind}", kind, pem)
        assert shake_hands(TlsSettings(trust_store=JavaStore(trusted, PASSWORD)).context(), server) is None


def test_a_jks_without_a_password_is_read_and_not_checked_as_in_java(stores: Stores) -> None:
    data = JavaStore(stores.trust["JKS"]).trusted()
    assert data == JavaStore(stores.trust["JKS"], PASSWORD).trusted()


# What cannot be used


@pytest.mark.parametrize(
    ("kind", "password", "message"),
    [
        ("PKCS12", "wrong", "it is neither PKCS12 nor JKS, or its password is another one"),
        ("PKCS12", None, "it is neither PKCS12 nor JKS, or it has a password, and none is given"),
        ("JKS", "wrong", "the password is another one, or the file is damaged"),
    ],
)
def test_another_password(stores: Stores, kind: str, password: str | None, message: str) -> None:
    path = stores.trust[kind]
    with pytest.raises(InvalidSettingsError, match=rf"^{path}: {message}"):
        TlsSettings(trust_store=JavaStore(path, password)).context()


def test_another_password_of_the_key(stores: Stores) -> None:
    path = stores.key["JKS"]
    with pytest.raises(InvalidSettingsError, match=rf"^{path}: the password of the private key 'own' is another one"):
        TlsSettings(key_store=JavaStore(path, PASSWORD)).context()


@pytest.mark.parametrize("kind", KINDS)
def test_stores_that_lack_what_they_are_for(stores: Stores, kind: str) -> None:
    with pytest.raises(InvalidSettingsError, match=r"it holds (no private key|0 private keys)"):
        TlsSettings(key_store=JavaStore(stores.trust[kind], PASSWORD)).context()


def test_a_pkcs12_with_a_key_is_no_trust_store_since_it_does_not_say_which_certificates_to_trust(
    stores: Stores,
) -> None:
    with pytest.raises(InvalidSettingsError, match="it holds a private key, so that not each"):
        TlsSettings(trust_store=JavaStore(stores.key["PKCS12"], PASSWORD)).context()


def test_a_store_with_two_keys_leaves_open_which(stores: Stores, tmp_path: Path) -> None:
    path = key_store(tmp_path / "two", "JKS", stores.own)
    key_store(path, "JKS", stores.broker, alias="other")
    with pytest.raises(InvalidSettingsError, match="it holds 2 private keys, and must hold one"):
        TlsSettings(key_store=JavaStore(path, PASSWORD)).context()


def test_a_jceks(stores: Stores, tmp_path: Path) -> None:
    path = trust_store(tmp_path / "store", "JCEKS", stores.authority.certificate)
    with pytest.raises(InvalidSettingsError, match="it is a JCEKS store, and only PKCS12 and JKS can be read: convert"):
        TlsSettings(trust_store=JavaStore(path, PASSWORD)).context()


def test_pem_where_a_store_was_named(stores: Stores) -> None:
    with pytest.raises(InvalidSettingsError, match="it is PEM: set the type of the store to PEM"):
        TlsSettings(trust_store=JavaStore(stores.authority.certificate)).context()


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x30\x82", b"\xfe\xed\xfe\xed"])
def test_a_file_of_something_else(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store"
    path.write_bytes(content)
    with pytest.raises(InvalidSettingsError, match=rf"^{path}: "):
        TlsSettings(trust_store=JavaStore(path)).context()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingsError, match="No such file"):
        TlsSettings(key_store=JavaStore(tmp_path / "missing")).context()


def test_pem_and_a_store_at_once(stores: Stores) -> None:
    with pytest.raises(InvalidSettingsError, match="named both in PEM and in a Java store"):
        TlsSettings(ca=stores.authority.certificate, trust_store=JavaStore(stores.trust["JKS"], PASSWORD)).context()


@given(st.data())
def test_any_damage_to_a_jks_is_noticed_with_its_password(stores: Stores, data: st.DataObject) -> None:
    whole = stores.key["JKS"].read_bytes()
    position = data.draw(st.integers(4, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(MalformedStoreError, match="the password is another one, or the file is damaged"):
        JksStore.parse(bytes(damaged), PASSWORD)


@given(st.data())
def test_no_damage_to_a_jks_makes_the_reader_fail_in_another_way(stores: Stores, data: st.DataObject) -> None:
    damaged = bytearray(stores.key["JKS"].read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        for key in JksStore.parse(cut, None).keys:
            key.unlocked(KEY_PASSWORD)
    except MalformedStoreError:
        pass
