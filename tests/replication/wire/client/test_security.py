"""Settings that protect a connection, and what is wrong with some."""

import ssl
from pathlib import Path

import pytest

from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.security import SaslMechanism, SaslSettings, TlsSettings
from replication.wire.errors import InvalidSettingsError
from tests.replication.wire.certificates import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


def test_by_default_the_broker_must_be_trusted_and_be_the_host_that_was_asked_for() -> None:
    context = TlsSettings().context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_old_protocols_are_refused_also_where_the_system_allows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    lenient = ssl.create_default_context()
    lenient.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: lenient)
    assert TlsSettings().context().minimum_version is ssl.TLSVersion.TLSv1_2


def test_without_the_hosts_name_the_broker_must_still_be_trusted(authority: Authority) -> None:
    context = TlsSettings(ca=authority.certificate, check_hostname=False).context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname


def test_only_the_named_authority_is_trusted(authority: Authority) -> None:
    assert len(TlsSettings(ca=authority.certificate).context().get_ca_certs()) == 1


@pytest.mark.parametrize("setting", ["ca", "certificate"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, setting: str) -> None:
    missing = tmp_path / "missing.pem"
    with pytest.raises(InvalidSettingsError, match=rf"{missing}: no such file"):
        TlsSettings(**{setting: missing}).context()  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", ["ca", "certificate"])
def test_a_file_of_something_else_is_named(tmp_path: Path, setting: str) -> None:
    other = tmp_path / "other.pem"
    other.write_text("not a certificate")
    with pytest.raises(InvalidSettingsError, match=rf"{other}: not (?:a )?PEM certificate"):
        TlsSettings(**{setting: other}).context()  # type: ignore[arg-type]


def test_a_key_needs_its_certificate(authority: Authority) -> None:
    key = authority.issue("client", "client.example").key
    with pytest.raises(InvalidSettingsError, match="a private key without a certificate"):
        TlsSettings(key=key).context()


def test_a_key_that_is_another_certificates(authority: Authority) -> None:
    mine, other = authority.issue("mine", "mine.example"), authority.issue("other", "other.example")
    with pytest.raises(InvalidSettingsError, match="not a PEM certificate with its private key"):
        TlsSettings(certificate=mine.certificate, key=other.key).context()


@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_key_with_another_password_is_refused_and_nobody_is_asked_for_it(
    authority: Authority, password: str | None
) -> None:
    own = authority.issue("client", "client.example", "right")
    with pytest.raises(InvalidSettingsError, match="or the password is wrong"):
        TlsSettings(certificate=own.both, key_password=password).context()


def test_passwords_are_never_shown() -> None:
    password = "alice-secret"  # noqa: S105 - nobody's
    sasl = SaslSettings(SaslMechanism.PLAIN, "alice", password)
    settings = ClientSettings(tls=TlsSettings(key_password=password), sasl=sasl)
    assert "alice" in repr(settings)
    assert "secret" not in repr(settings)
