"""A Java client's properties file, as Kafka's tools take with --command-config: what of it holds here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from logstore.files.java_properties import parse_properties
from replication.base.int32 import parse_setting
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.java_store import JavaStore
from replication.wire.client.oauth import OAUTHBEARER, OAuthSettings
from replication.wire.client.security import SaslMechanism, SaslSettings, TlsSettings
from replication.wire.errors import InvalidSettingsError

PROTOCOLS: Final = {
    # Whether TLS, whether SASL.
    "PLAINTEXT": (False, False),
    "SSL": (True, False),
    "SASL_PLAINTEXT": (False, True),
    "SASL_SSL": (True, True),
}
SUPPORTED: Final = frozenset(
    {
        "client.id",
        "request.timeout.ms",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.mechanism",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
STORE_TYPES: Final = {
    # Whether it is PEM. Java reads either of the others under both names.
    "JKS": False,
    "PKCS12": False,
    "PEM": True,
}
API_TIMEOUT: Final = "default.api.timeout.ms"
"""Of these properties only elections know it: other commands wait as long as they are let."""
DEFAULT_API_TIMEOUT_MS: Final = 60_000
SECURITY: Final = ("security.", "sasl.", "ssl.")
"""Properties that must not be ignored: a connection would be less secure than intended, or fail."""

_OAUTH_HANDLERS: Final = frozenset(
    f"org.apache.kafka.common.security.oauthbearer.{package}OAuthBearerLoginCallbackHandler"
    for package in ("", "secured.")
)
"""Java's classes for client credentials, before and since Kafka 4.0."""
_OAUTH_OPTIONS: Final = frozenset({"clientId", "clientSecret", "scope"})
_JAAS_OPTION: Final = re.compile(r'([\w.]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s;"]+))')

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """How to connect, and which properties make no difference here."""

    settings: ClientSettings
    passed_over: tuple[str, ...] = ()
    api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS
    """How long all attempts at one request may take together, where there are several."""

    @classmethod
    def read(cls, path: Path, defaults: Mapping[str, str] = MappingProxyType({})) -> "ClientProperties":
        """Read a file over `defaults`.

        Raises InvalidSettingsError where it asks for what is not supported, and OSError.
        """
        try:
            return cls.of({**defaults, **parse_properties(path.read_bytes())})
        except InvalidSettingsError as error:
            raise InvalidSettingsError(f"{path}: {error}") from error

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "ClientProperties":
        """Create it from properties by name. Raises InvalidSettingsError."""
        given = {name: value.strip() for name, value in properties.items()}
        others = sorted(given.keys() - SUPPORTED)
        if refused := [name for name in others if name.startswith(SECURITY)]:
            raise InvalidSettingsError(
                f"{', '.join(refused)}: not supported; of security.*, sasl.* and ssl.* these are: "
                f"{', '.join(sorted(name for name in SUPPORTED if name.startswith(SECURITY)))}"
            )
        tls, sasl = _chosen("security.protocol", given.get("security.protocol", "PLAINTEXT"), PROTOCOLS)
        default = ClientSettings()
        settings = ClientSettings(
            client_id=given.get("client.id", default.client_id),
            connect_timeout_ms=_number(given, "socket.connection.setup.timeout.ms", default.connect_timeout_ms),
            request_timeout_ms=_number(given, "request.timeout.ms", default.request_timeout_ms),
            tls=_tls(given) if tls else None,
            sasl=_sasl(given) if sasl else None,
        )
        return cls(settings, tuple(others), _number(given, API_TIMEOUT, DEFAULT_API_TIMEOUT_MS))


def _tls(given: Mapping[str, str]) -> TlsSettings:
    check = given.get("ssl.endpoint.identification.algorithm", "https")
    ca, trust_store = _store(given, "truststore")
    certificate, key_store = _store(given, "keystore")
    return TlsSettings(
        ca=ca,
        certificate=certificate,
        key_password=given.get("ssl.key.password") if certificate else None,
        trust_store=trust_store,
        key_store=key_store,
        check_hostname=_chosen("ssl.endpoint.identification.algorithm", check, {"https": True, "": False}),
    )


def _store(given: Mapping[str, str], store: str) -> tuple[str | None, JavaStore | None]:
    """Return where PEM is, or the Java store; neither where there is none."""
    path = given.get(f"ssl.{store}.location")
    if path is None:
        return None, None
    password = given.get(f"ssl.{store}.password")
    is_pem = _chosen(f"ssl.{store}.type", given.get(f"ssl.{store}.type", "JKS").upper(), STORE_TYPES)
    if not is_pem:
        return None, JavaStore(path, password, given.get("ssl.key.password") if store == "keystore" else None)
    if password is not None:
        raise InvalidSettingsError(f"ssl.{store}.password: PEM has none; that of a private key is ssl.key.password")
    return path, None


def _sasl(given: Mapping[str, str]) -> SaslSettings | OAuthSettings:
    mechanisms = {mechanism.value: mechanism for mechanism in SaslMechanism} | {OAUTHBEARER: None}
    mechanism = _chosen("sasl.mechanism", given.get("sasl.mechanism", "GSSAPI"), mechanisms)
    found = _JAAS_OPTION.findall(given.get("sasl.jaas.config", ""))
    options = {name: re.sub(r"\\(.)", r"\1", quoted) or plain for name, quoted, plain in found}
    if mechanism is None:
        return _oauth(given, options)
    if handler := given.get("sasl.login.callback.handler.class"):
        raise InvalidSettingsError(f"sasl.login.callback.handler.class is {handler!r}, and only for {OAUTHBEARER}")
    if not {"username", "password"} <= options.keys():
        raise InvalidSettingsError('sasl.jaas.config has no username="..." and password="..."')
    return SaslSettings(mechanism, options["username"], options["password"])


def _oauth(given: Mapping[str, str], options: Mapping[str, str]) -> OAuthSettings:
    handler = given.get("sasl.login.callback.handler.class")
    if handler is not None and handler not in _OAUTH_HANDLERS:
        choices = ", ".join(sorted(_OAUTH_HANDLERS))
        raise InvalidSettingsError(f"sasl.login.callback.handler.class is {handler!r}, and supported are {choices}")
    endpoint = given.get("sasl.oauthbearer.token.endpoint.url")
    if endpoint is None:
        raise InvalidSettingsError("sasl.oauthbearer.token.endpoint.url is missing: who gives the token?")
    if others := sorted(options.keys() - _OAUTH_OPTIONS):
        raise InvalidSettingsError(
            f"sasl.jaas.config has {', '.join(others)}, and supported are {', '.join(sorted(_OAUTH_OPTIONS))}"
        )
    if not {"clientId", "clientSecret"} <= options.keys():
        raise InvalidSettingsError('sasl.jaas.config has no clientId="..." and clientSecret="..."')
    return OAuthSettings(
        token_endpoint=endpoint,
        client_id=options["clientId"],
        client_secret=options["clientSecret"],
        scope=options.get("scope"),
    )


def _chosen(name: str, value: str, known: Mapping[str, T]) -> T:
    if value not in known:
        choices = ", ".join(choice or "(empty)" for choice in known)
        raise InvalidSettingsError(f"{name} is {value!r}, and supported are {choices}")
    return known[value]


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    number = parse_setting(text)
    if number is None or number <= 0:
        raise InvalidSettingsError(f"{name} is {text!r:.60}, and must be milliseconds")
    return number
