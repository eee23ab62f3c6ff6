"""Settings that go to another machine arrive whole, with their files, and show no secret on the way."""

import pickle
import stat
from pathlib import Path

from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.java_store import JavaStore
from replication.wire.client.oauth import OAuthSettings
from replication.wire.client.packed_settings import PackedSettings
from replication.wire.client.security import SaslMechanism, SaslSettings, TlsSettings

SECRET = "s3cret-word"  # noqa: S105  the test's own


def sent(settings: ClientSettings) -> PackedSettings:
    packed = PackedSettings.of(settings)
    assert SECRET not in repr(packed)
    assert SECRET not in str([packed])
    arrived: PackedSettings = pickle.loads(pickle.dumps(packed))  # noqa: S301  its own
    return arrived


def test_a_password_arrives() -> None:
    settings = ClientSettings(client_id="me", sasl=SaslSettings(SaslMechanism.PLAIN, "user", SECRET))
    with sent(settings).unpacked() as arrived:
        assert arrived == settings


def test_what_obtains_tokens_arrives() -> None:
    endpoint = "https://id.example/token"
    oauth = OAuthSettings(token_endpoint=endpoint, client_id="me", client_secret=SECRET, scope="s")
    with sent(ClientSettings(sasl=oauth)).unpacked() as arrived:
        assert arrived.sasl == oauth


def test_files_arrive_with_what_they_hold_and_go_again(tmp_path: Path) -> None:
    for name in ("ca", "own", "key", "store"):
        (tmp_path / name).write_text(f"{name} {SECRET}")
    tls = TlsSettings(
        ca=tmp_path / "ca",
        certificate=tmp_path / "own",
        key=tmp_path / "key",
        key_password=SECRET,
        key_store=JavaStore(tmp_path / "store", SECRET),
        check_hostname=False,
    )
    packed = sent(ClientSettings(tls=tls))
    for name in ("ca", "own", "key", "store"):
        (tmp_path / name).unlink()
    with packed.unpacked() as arrived:
        assert arrived.tls is not None
        assert arrived.tls.ca is not None
        assert arrived.tls.key is not None
        assert arrived.tls.key_store is not None
        paths = [Path(arrived.tls.ca), Path(arrived.tls.key), Path(arrived.tls.key_store.path)]
        assert [path.read_text() for path in paths] == [f"{name} {SECRET}" for name in ("ca", "key", "store")]
        assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
        assert (arrived.tls.key_password, arrived.tls.check_hostname) == (SECRET, False)
        assert arrived.tls.key_store.password == SECRET
    assert not any(path.exists() for path in paths)
