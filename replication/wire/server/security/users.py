"""Who may log in, by a file that may change meanwhile."""

import base64
import binascii
import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from replication.wire.errors import InvalidSettingsError
from replication.wire.server.security.no_users import NoUsers
from replication.wire.server.security.scram_credential import (
    DEFAULT_SHAPE,
    DIGESTS,
    ITERATIONS,
    SALT_BYTES,
    ScramCredential,
    ScramShape,
)

_LOGGER: Final = logging.getLogger("epochlog.server")
_MOST_BYTES: Final = 16 * 1024 * 1024
_PASSWORD: Final = "password"  # noqa: S105  the name of a field
_PLAIN_DIGEST: Final = "sha256"
_FIELDS: Final = ("salt", "stored_key", "server_key", "iterations")


class _User(NamedTuple):
    password: str | None
    kept: Mapping[str, ScramCredential]
    """What is kept of a password instead, by digest."""


_Users: TypeAlias = Mapping[str, _User]
_NOBODY: Final = _User(None, {})


class Users(Protocol):
    """Those who may log in."""

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        """Return a user's, for a digest or any that there is; of whoever is not known, one that nobody can use."""

    def shapes(self, digest: str) -> Collection[ScramShape]:
        """Return what the credentials of those look like who are known."""
        del digest
        return ()


class UsersFile(Users):
    """Users of a file in JSON, which is read again at the first login after it has changed.

    By the user's name stands a password, or what is kept of one for a mechanism, in base64 as Kafka has it:

        {"alice": {"password": "alice-secret"},
         "bob": {"SCRAM-SHA-512": {"salt": "...", "stored_key": "...", "server_key": "...", "iterations": 4096}}}

    With a password a user can log in by every mechanism; else by that one, and by PLAIN. A file that cannot be read, or
    is not of this form, leaves the users as they were. While one login reads it again, others go by what was there.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Read the file; InvalidSettingsError says what is wrong with it."""
        self._path: Final = Path(path)
        self._lock: Final = Lock()
        self._secret: Final = secrets.token_bytes(32)
        """Of which salts are made, so that a user has the same one each time."""
        self._nobody: Final = NoUsers(self.shapes)
        self._seen: tuple[int, ...] | None = _stamp_of(self._path)
        self._users: _Users = _read(self._path)

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        """Return a user's, for a digest or any that there is; of whoever is not known, one that nobody can use."""
        if self._lock.acquire(blocking=False):
            try:
                self._refresh()
            finally:
                self._lock.release()
        user = self._users.get(name, _NOBODY)
        # A thousand passwords would take seconds at once. It is done for everybody: time does not tell who is known.
        of_password = self._derived(name, user.password, digest or _PLAIN_DIGEST)
        if digest is None and user.password is None:
            return next(iter(user.kept.values()), of_password)
        return user.kept.get(digest or "", of_password)

    def shapes(self, digest: str) -> Collection[ScramShape]:
        """Return what the credentials of those look like who are known."""
        return {
            user.kept[digest].shape if digest in user.kept else DEFAULT_SHAPE
            for user in self._users.values()
            if digest in user.kept or user.password is not None
        }

    def _derived(self, name: str, password: str | None, digest: str) -> ScramCredential:
        salt = self._salt(name)
        if password is not None:
            return ScramCredential.of(password, digest, salt)
        ScramCredential.of(name, digest, salt)
        return self._nobody.credential(name, digest)

    def _refresh(self) -> None:
        """Read the file if it has changed; of each one that cannot be used it is said once."""
        seen = _stamp_of(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._users = _read(self._path)
        except InvalidSettingsError as error:
            _LOGGER.warning("the users stay as they were: %s", error)

    def _salt(self, name: str) -> bytes:
        return hmac.digest(self._secret, name.encode(), "sha256")[:SALT_BYTES]


def _stamp_of(path: Path) -> tuple[int, ...] | None:
    """Return what changes as a file does; None where it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> _Users:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InvalidSettingsError(f"{path}: users cannot be read: {error.strerror}") from error
    return _parsed(data, path)


def _parsed(data: bytes, path: Path) -> _Users:
    try:
        users = json.loads(_bounded(data), object_pairs_hook=_object)
        return {name: _user(name, entry) for name, entry in _mapping(users, "the file").items()}
    except (ValueError, RecursionError) as error:
        raise InvalidSettingsError(
            f'{path}: not a file of users: {error}; write such as {{"alice": {{"password": "..."}}}}'
        ) from error


def _bounded(data: bytes) -> bytes:
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES:,} bytes")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name, value in pairs:
        if name in known:
            raise ValueError(f"{name!r} is there twice")
        known[name] = value
    return known


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")  # noqa: TRY004  as all that is wrong with a file
    return value


def _user(name: str, entry: Any) -> _User:
    mechanisms = {mechanism.value: digest for mechanism, digest in DIGESTS.items()}
    given = _mapping(entry, f"what belongs to {name!r}")
    unknown = given.keys() - {_PASSWORD, *mechanisms}
    if unknown or not given:
        raise ValueError(f"{name!r} has {sorted(unknown) or 'nothing'}; allowed: {_PASSWORD}, {', '.join(mechanisms)}")
    password = given.get(_PASSWORD)
    if _PASSWORD in given and not (isinstance(password, str) and password.encode()):
        raise ValueError(f"the password of {name!r} is no text, or empty")
    kept = {digest: _kept(name, digest, given[key]) for key, digest in mechanisms.items() if key in given}
    return _User(password, kept)


def _kept(name: str, digest: str, given: Any) -> ScramCredential:
    fields = _mapping(given, f"a credential of {name!r}")
    if fields.keys() != set(_FIELDS):
        raise ValueError(f"a credential of {name!r} has {sorted(fields)}, not {', '.join(_FIELDS)}")
    salt, stored_key, server_key = (_binary(name, key, fields[key]) for key in _FIELDS[:3])
    iterations, size = fields["iterations"], hashlib.new(digest).digest_size
    if type(iterations) is not int or iterations < ITERATIONS:
        raise ValueError(f"a credential of {name!r} has {iterations!r} iterations, not {ITERATIONS:,} or more")
    if not salt or {len(stored_key), len(server_key)} != {size}:
        raise ValueError(f"a credential of {name!r} has no salt, or keys that are not of {size} bytes")
    return ScramCredential(
        digest=digest, salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations
    )


def _binary(name: str, key: str, text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ValueError(f"{key} of {name!r} is not in base64") from None
