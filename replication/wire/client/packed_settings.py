"""Settings of a client that go to another machine, with what its files of keys and certificates hold."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.oauth import OAuthSettings
from replication.wire.client.security import TlsSettings

_OF_TLS: Final = ("ca", "certificate", "key")
_STORES: Final = ("trust_store", "key_store")


@dataclass(frozen=True, slots=True)
class PackedSettings:
    """It can be pickled, and shows no secret where it is printed."""

    _settings: ClientSettings = field(repr=False)
    """Without files and without what holds tokens."""
    _files: dict[str, bytes] = field(repr=False)
    """What they hold, by the field that names them."""
    _oauth: dict[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: ClientSettings) -> Self:
        """Read the files that settings name. Raises OSError."""
        files = {} if settings.tls is None else dict(_files_of(settings.tls))
        oauth = None
        if isinstance(settings.sasl, OAuthSettings):
            names = ("token_endpoint", "client_id", "client_secret", "scope", "timeout_ms")
            oauth = {name: getattr(settings.sasl, name) for name in names}
            settings = replace(settings, sasl=None)
        return cls(settings, files, oauth)

    @contextmanager
    def unpacked(self) -> Iterator[ClientSettings]:
        """Write the files into a directory that nobody else may read, for as long as it is entered."""
        settings = self._settings
        if self._oauth is not None:
            settings = replace(settings, sasl=OAuthSettings(**self._oauth))
        if settings.tls is None:
            yield settings
            return
        with TemporaryDirectory(prefix="epochlog-") as directory:
            yield replace(settings, tls=_with_files(settings.tls, self._files, Path(directory)))


def _files_of(tls: TlsSettings) -> Iterator[tuple[str, bytes]]:
    for name in _OF_TLS:
        path = getattr(tls, name)
        if path is not None:
            yield name, Path(path).read_bytes()
    for name in _STORES:
        store = getattr(tls, name)
        if store is not None:
            yield name, Path(store.path).read_bytes()


def _with_files(tls: TlsSettings, files: dict[str, bytes], directory: Path) -> TlsSettings:
    """Return settings that name the files in a directory."""
    paths = {name: directory / name for name in files}
    for name, data in files.items():
        with open(os.open(paths[name], os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(data)
    named: dict[str, Any] = {name: path for name, path in paths.items() if name in _OF_TLS}
    named |= {name: replace(getattr(tls, name), path=paths[name]) for name in _STORES if name in paths}
    return replace(tls, **named)
