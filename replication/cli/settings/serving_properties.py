"""A file of properties for `epochlog serve`, under the names that a broker's have in server.properties."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Self, TypeVar

from logstore.files.java_properties import parse_properties
from replication.cli.settings.client_properties import PROTOCOLS
from replication.wire.addresses import Address
from replication.wire.client.security import SaslMechanism
from replication.wire.errors import InvalidSettingsError
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.security.no_users import NoUsers
from replication.wire.server.security.sasl_authentication import SaslSettings
from replication.wire.server.security.server_tls import ClientAuth, ServerTls
from replication.wire.server.security.users import UsersFile
from replication.wire.server.server_limits import ServerLimits

LIMITS: Final = tuple(field.name.replace("_", ".") for field in fields(ServerLimits))
USERS_FILE: Final = "sasl.users.file"
"""Of ours: Kafka keeps users in its metadata, or in the configuration of its own login modules."""
TLS: Final = (
    "ssl.client.auth",
    "ssl.key.password",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.truststore.location",
    "ssl.truststore.type",
)
SASL: Final = (
    "connection.failed.authentication.delay.ms",
    "connections.max.reauth.ms",
    "sasl.enabled.mechanisms",
    USERS_FILE,
)
KNOWN: Final = ("security.protocol", *TLS, *SASL, *LIMITS)

_NUMBER: Final = re.compile(r"[+-]?\d{1,18}|9223372036854775807", re.ASCII)

T = TypeVar("T")


def from_file(path: Path, take: Callable[[Mapping[str, str]], T]) -> T:
    """Return what is made of a file of properties. Raises InvalidSettingsError, with the file's name, and OSError."""
    try:
        return take(parse_properties(_plain_text(path.read_bytes())))
    except InvalidSettingsError as error:
        raise InvalidSettingsError(f"{path}: {error}") from error


def _plain_text(data: bytes) -> bytes:
    """Return it without the mark with which editors begin UTF-8. Raises InvalidSettingsError where it is no text."""
    if b"\0" in data:
        raise InvalidSettingsError("it is UTF-16 or no text at all: save it as plain text, in ASCII or ISO-8859-1")
    return data.removeprefix(BOM_UTF8)


@dataclass(frozen=True, slots=True)
class ServingProperties:
    """How clients have to come, and what they may take."""

    listener: ListenerSettings
    limits: ServerLimits

    @classmethod
    def read(cls, path: Path, address: Address) -> Self:
        """Read a file, for a listener at an address. Raises InvalidSettingsError, with its name, and OSError."""
        return from_file(path, lambda properties: cls.of(properties, address))

    @classmethod
    def of(cls, properties: Mapping[str, str], address: Address, *, has_metadata: bool = False) -> Self:
        """Create it from properties by name; a cluster that `has_metadata` may have users without a file.

        Raises InvalidSettingsError for those that are not known, and for wrong values.
        """
        given = {name: value.strip() for name, value in properties.items()}
        if unknown := sorted(given.keys() - set(KNOWN)):
            raise InvalidSettingsError(f"{', '.join(unknown)}: not known here; these are: {', '.join(sorted(KNOWN))}")
        limits = {name.replace(".", "_"): whole_number(given, name) for name in LIMITS if name in given}
        return cls(_listener(given, address, has_metadata=has_metadata), ServerLimits(**limits))


def _listener(given: Mapping[str, str], address: Address, *, has_metadata: bool) -> ListenerSettings:
    protocol = given.get("security.protocol", "PLAINTEXT")
    tls, sasl = _chosen("security.protocol", protocol, PROTOCOLS)
    unused = [name for name in given if (name in TLS and not tls) or (name in SASL and not sasl)]
    if unused:
        raise InvalidSettingsError(f"{', '.join(unused)}: of no use with security.protocol {protocol}")
    return ListenerSettings(
        address=address,
        name=protocol,
        tls=_tls(given) if tls else None,
        sasl=_sasl(given, has_metadata=has_metadata) if sasl else None,
    )


def _tls(given: Mapping[str, str]) -> ServerTls:
    for store in ("keystore", "truststore"):
        _chosen(f"ssl.{store}.type", given.get(f"ssl.{store}.type", "PEM").upper(), {"PEM": None})
    certificate = given.get("ssl.keystore.location")
    if certificate is None:
        raise InvalidSettingsError("ssl.keystore.location is missing: the server's certificate and key, in PEM")
    auth = given.get("ssl.client.auth", ClientAuth.NONE.value)
    return ServerTls(
        certificate=certificate,
        key_password=given.get("ssl.key.password"),
        client_ca=given.get("ssl.truststore.location"),
        client_auth=_chosen("ssl.client.auth", auth, {each.value: each for each in ClientAuth}),
    )


def _sasl(given: Mapping[str, str], *, has_metadata: bool) -> SaslSettings:
    path = given.get(USERS_FILE)
    if path is None and not has_metadata:
        raise InvalidSettingsError(f"{USERS_FILE} is missing: who may log in?")
    known = {each.value: each for each in SaslMechanism}
    if path is None:
        # Of a password the metadata keeps what proves it by SCRAM.
        del known[SaslMechanism.PLAIN.value]
    names = given.get("sasl.enabled.mechanisms", ",".join(known)).split(",")
    times = {
        name.replace(".", "_"): whole_number(given, name)
        for name in ("connections.max.reauth.ms", "connection.failed.authentication.delay.ms")
        if name in given
    }
    mechanisms = tuple(_mechanism(name.strip(), known) for name in names)
    return SaslSettings(users=NoUsers() if path is None else UsersFile(path), mechanisms=mechanisms, **times)


def _mechanism(name: str, known: Mapping[str, SaslMechanism]) -> SaslMechanism:
    if name == SaslMechanism.PLAIN.value and name not in known:
        raise InvalidSettingsError(f"{USERS_FILE} is missing: who may log in by {name}?")
    return _chosen("sasl.enabled.mechanisms", name, known)


def _chosen(name: str, value: str, known: Mapping[str, T]) -> T:
    if value not in known:
        raise InvalidSettingsError(f"{name} is {value!r}, and supported are {', '.join(known)}")
    return known[value]


def whole_number(given: Mapping[str, str], name: str) -> int:
    """Read the value of a setting. Raises InvalidSettingsError where it is no int64."""
    match = _NUMBER.fullmatch(given[name])
    if match is None:
        raise InvalidSettingsError(f"{name} is {given[name]!r:.60}, and must be a whole number")
    return int(match[0])
