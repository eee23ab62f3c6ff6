"""What holds of a Java client's properties file, and what is refused."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cli.settings.client_properties import ClientProperties
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.java_store import JavaStore
from replication.wire.client.oauth import OAuthSettings
from replication.wire.client.security import SaslMechanism, SaslSettings, TlsSettings
from replication.wire.errors import InvalidSettingsError

LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="p\\"w=;1";'


def test_an_empty_file_is_a_plain_connection(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# nothing\n\n")
    assert ClientProperties.read(path) == ClientProperties(ClientSettings())


def test_a_file_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "security.protocol=SASL_SSL\n"
        "sasl.mechanism = SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        '    username="ann" \\\n'
        '    password="secret";\n'
        "ssl.truststore.type=PEM\n"
        "ssl.truststore.location=/etc/kafka/ca.pem\n"
        "ssl.endpoint.identification.algorithm=\n"
        "client.id=copy\n"
        "request.timeout.ms=5000\n"
        "max.poll.records=7\n"
    )
    read = ClientProperties.read(path)
    assert read.settings == ClientSettings(
        client_id="copy",
        request_timeout_ms=5_000,
        tls=TlsSettings(ca="/etc/kafka/ca.pem", check_hostname=False),
        sasl=SaslSettings(SaslMechanism.SCRAM_SHA_512, "ann", "secret"),
    )
    assert read.passed_over == ("max.poll.records",)


@given(
    username=st.text(st.characters(codec="latin-1", categories=("L", "N", "P", "S")), min_size=1),
    password=st.text(st.characters(codec="latin-1", categories=("L", "N", "P", "S")), min_size=1),
)
def test_any_user_and_password_can_be_told_in_quotes(username: str, password: str) -> None:
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (username, password)]
    login = f'PlainLoginModule required username="{quoted[0]}" password="{quoted[1]}";'
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    assert ClientProperties.of(given).settings.sasl == SaslSettings(SaslMechanism.PLAIN, username, password)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is 'TLS', and supported are PLAINTEXT, SSL"),
        ({"sasl.kerberos.service.name": "kafka"}, "sasl.kerberos.service.name: not supported"),
        ({"security.protocol": "SASL_SSL", "sasl.jaas.config": LOGIN}, "sasl.mechanism is 'GSSAPI'"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config has no username"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "ca", "ssl.truststore.type": "BCFKS"},
            "ssl.truststore.type is 'BCFKS', and supported are JKS, PKCS12, PEM",
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.keystore.location": "own.pem",
                "ssl.keystore.type": "pem",
                "ssl.keystore.password": "secret",
            },
            "ssl.keystore.password: PEM has none",
        ),
        ({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "no"}, "https, \\(empty\\)"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms is 'soon'"),
    ],
)
def test_what_is_not_supported_is_named(properties: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidSettingsError, match=message):
        ClientProperties.of(properties)


@pytest.mark.parametrize("kind", [{}, {"ssl.truststore.type": "PKCS12", "ssl.keystore.type": "pkcs12"}])
def test_stores_are_javas_unless_they_are_pem(kind: dict[str, str]) -> None:
    given = {
        "security.protocol": "SSL",
        "ssl.truststore.location": "trust",
        "ssl.truststore.password": "a",
        "ssl.keystore.location": "own",
        "ssl.keystore.password": "b",
        "ssl.key.password": "c",
    }
    assert ClientProperties.of(given | kind).settings.tls == TlsSettings(
        trust_store=JavaStore("trust", "a"), key_store=JavaStore("own", "b", "c")
    )


OAUTH = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
    "sasl.jaas.config": 'OAuthBearerLoginModule required clientId="ann" clientSecret="s" scope="kafka";',
}
HANDLER = "sasl.login.callback.handler.class"
OAUTHBEARER_CLASSES = "org.apache.kafka.common.security.oauthbearer"


@pytest.mark.parametrize(
    "handler",
    [
        {},
        {HANDLER: f"{OAUTHBEARER_CLASSES}.secured.OAuthBearerLoginCallbackHandler"},
        {HANDLER: f"{OAUTHBEARER_CLASSES}.OAuthBearerLoginCallbackHandler"},
    ],
)
def test_client_credentials_are_taken_as_of_any_version_of_kafka(handler: dict[str, str]) -> None:
    oauth = ClientProperties.of(OAUTH | handler).settings.sasl
    assert isinstance(oauth, OAuthSettings)
    told = (oauth.token_endpoint, oauth.client_id, oauth.client_secret, oauth.scope)
    assert told == ("https://login.example/token", "ann", "s", "kafka")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({HANDLER: "com.example.Handler"}, "handler.class is 'com.example.Handler', and supported are org.apache"),
        ({"sasl.mechanism": "PLAIN", HANDLER: "com.example.Handler"}, "and only for OAUTHBEARER"),
        ({"sasl.jaas.config": 'required clientId="ann";'}, 'no clientId="..." and clientSecret'),
        (
            {"sasl.jaas.config": 'required clientId="a" clientSecret="b" ssl.truststore.location="c";'},
            "sasl.jaas.config has ssl.truststore.location, and supported are clientId, clientSecret, scope",
        ),
        ({"sasl.oauthbearer.token.endpoint.url": "file:///token"}, "is not a URL of https or http"),
        ({"sasl.oauthbearer.scope.claim.name": "scp"}, "sasl.oauthbearer.scope.claim.name: not supported"),
    ],
)
def test_what_is_not_supported_of_oauth_is_named(properties: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidSettingsError, match=re.escape(message)):
        ClientProperties.of(OAUTH | properties)


def test_without_an_endpoint_there_is_no_token() -> None:
    without = {name: value for name, value in OAUTH.items() if "endpoint" not in name}
    with pytest.raises(InvalidSettingsError, match=r"token\.endpoint\.url is missing"):
        ClientProperties.of(without)


def test_the_file_is_named_and_the_password_is_not(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"security.protocol=SASL_SSL\nsasl.mechanism=NONE\nsasl.jaas.config={LOGIN}\n")
    with pytest.raises(InvalidSettingsError, match=r"client\.properties: sasl\.mechanism is 'NONE'") as failure:
        ClientProperties.read(path)
    assert "p" + '"w' not in str(failure.value)


@pytest.mark.parametrize("text", ["9" * 5_000, "2147483648", "-1", "0", "1.5", "1e3", ""], ids=lambda text: text[:12])
def test_times_that_are_none_are_refused_however_long_they_are(text: str) -> None:
    with pytest.raises(InvalidSettingsError, match="and must be milliseconds") as refused:
        ClientProperties.of({"request.timeout.ms": text})
    assert len(str(refused.value)) < 150
