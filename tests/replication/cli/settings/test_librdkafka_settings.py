"""A Java client's properties mean the same to librdkafka; that it takes them is seen by making a client of them."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from cryptography.x509 import load_pem_x509_certificate, load_pem_x509_certificates

from replication.cli.settings.client_properties import ClientProperties
from replication.cli.settings.librdkafka_settings import librdkafka_settings
from replication.wire.errors import InvalidSettingsError
from tests.replication.wire.certificates import Authority

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p\\"w";'


def settings(**properties: object) -> dict[str, Any]:
    given = {name.replace("_", "."): str(value) for name, value in properties.items()}
    return librdkafka_settings("b:1", ClientProperties.of(given).settings)


def taken(**properties: object) -> dict[str, Any]:
    """What is beyond the address and waiting; librdkafka refuses names and values that it does not know."""
    made = settings(**properties)
    Producer(made)
    waiting = {"client.id", "bootstrap.servers", "socket.timeout.ms", "socket.connection.setup.timeout.ms"}
    return {name: value for name, value in made.items() if name not in waiting}


def test_without_properties() -> None:
    assert settings() == {
        "bootstrap.servers": "b:1",
        "client.id": "epochlog",
        "security.protocol": "PLAINTEXT",
        "socket.timeout.ms": 30_000,
        "socket.connection.setup.timeout.ms": 10_000,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_and_a_password(mechanism: str) -> None:
    made = taken(security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, sasl_jaas_config=LOGIN)
    assert made == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "u",
        "sasl.password": 'p"w',
    }


def test_oauth() -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
    made = settings(
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_token_endpoint_url="https://example.com/token",  # noqa: S106  no secret
        sasl_jaas_config=f'{module} clientId="i" clientSecret="s" scope="all";',
    )
    assert {name: value for name, value in made.items() if name.startswith("sasl")} == {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://example.com/token",
        "sasl.oauthbearer.client.id": "i",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "all",
    }


def test_certificates_in_pem(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    own = authority.issue("client", "127.0.0.1").both
    made = taken(
        security_protocol="SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location=authority.certificate,
        ssl_keystore_type="PEM",
        ssl_keystore_location=own,
        ssl_endpoint_identification_algorithm="",
    )
    assert made == {
        "security.protocol": "SSL",
        "ssl.ca.location": str(authority.certificate),
        "ssl.certificate.location": str(own),
        "ssl.key.location": str(own),
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_java_stores(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path, "authority"), Authority(tmp_path, "other")
    trusted = [load_pem_x509_certificate(Path(each.certificate).read_bytes()) for each in (authority, other)]
    trust, keys = tmp_path / "trust.p12", tmp_path / "keys.p12"
    trust.write_bytes(
        pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(each, b"name") for each in trusted], BestAvailableEncryption(b"secret")
        )
    )
    own = Path(authority.issue("client", "127.0.0.1").both).read_bytes()
    keys.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"me",
            load_pem_private_key(own, None),  # type: ignore[arg-type]  # of a kind that such stores take
            load_pem_x509_certificate(own),
            None,
            BestAvailableEncryption(b"secret"),
        )
    )
    made = taken(
        security_protocol="SSL",
        ssl_truststore_location=trust,
        ssl_truststore_password="secret",  # noqa: S106  the test's own
        ssl_keystore_location=keys,
        ssl_keystore_password="secret",  # noqa: S106  as above
    )
    assert sorted(load_pem_x509_certificates(made.pop("ssl.ca.pem").encode()), key=hash) == sorted(trusted, key=hash)
    assert made == {
        "security.protocol": "SSL",
        "ssl.keystore.location": str(keys),
        "ssl.keystore.password": "secret",
    }


def test_a_key_store_that_librdkafka_cannot_read(tmp_path: Path) -> None:
    store = tmp_path / "keys.jks"
    store.write_bytes(bytes.fromhex("feedfeed00000002"))
    with pytest.raises(InvalidSettingsError, match="reads no JKS key stores; convert it to PKCS12"):
        settings(security_protocol="SSL", ssl_keystore_location=store)
