"""Java's own format of key stores, JKS: what `keytool -storetype JKS` writes, and all Java did by default up to Java 8.

All numbers are big-endian. After the magic, the version and the number of entries comes each entry: its tag, its alias,
a time, and a certificate or a private key with its chain. The file ends with a SHA-1 of the password and all of it.
"""

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

MAGIC: Final = b"\xfe\xed\xfe\xed"

_PRIVATE_KEY, _TRUSTED_CERTIFICATE = 1, 2
_VERSIONS: Final = (1, 2)
_DIGEST_SIZE: Final = hashlib.sha1(usedforsecurity=False).digest_size
_WHITENER: Final = b"Mighty Aphrodite"
_MOST_CERTIFICATES: Final = 1_000
_SEQUENCE, _OCTETS = 0x30, 0x04


class MalformedStoreError(ValueError):
    """The bytes are no store, or the password is another one; the message says which."""


@dataclass(frozen=True, slots=True)
class ProtectedKey:
    """A private key, encrypted with the key's password, and its certificates (DER), its own first."""

    alias: str
    protected: bytes
    chain: tuple[bytes, ...]

    def unlocked(self, password: str) -> bytes:
        """Return the key as PKCS #8 in DER. Raises MalformedStoreError if the password is another one."""
        data = _octets_of(self.protected)
        if len(data) < 2 * _DIGEST_SIZE:
            raise MalformedStoreError(f"the private key {self.alias!r} is too short")
        salt, encrypted, check = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
        secret = password.encode("utf-16-be")
        key = bytes(byte ^ mask for byte, mask in zip(encrypted, _masks(secret, salt), strict=False))
        if not hmac.compare_digest(_sha1(secret + key), check):
            raise MalformedStoreError(f"the password of the private key {self.alias!r} is another one")
        return key


@dataclass(frozen=True, slots=True)
class JksStore:
    """What a JKS file holds; certificates are in DER."""

    trusted: tuple[bytes, ...]
    keys: tuple[ProtectedKey, ...]

    @classmethod
    def parse(cls, data: bytes, password: str | None) -> "JksStore":
        """Read all entries; without a password nothing shows whether the file was changed, as in Java.

        Raises MalformedStoreError.
        """
        content, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
        if password is not None:
            expected = _sha1(password.encode("utf-16-be") + _WHITENER + content)
            if not hmac.compare_digest(expected, digest):
                raise MalformedStoreError("the password is another one, or the file is damaged")
        reader = _Reader(content, len(MAGIC))
        version = reader.number(4)
        if version not in _VERSIONS:
            raise MalformedStoreError(f"the version of its format is {version}, not 1 or 2")
        trusted: list[bytes] = []
        keys: list[ProtectedKey] = []
        for _ in range(reader.number(4)):
            tag, alias = reader.number(4), reader.text()
            reader.take(8)  # when it was made
            if tag == _TRUSTED_CERTIFICATE:
                trusted.append(reader.certificate(version))
            elif tag == _PRIVATE_KEY:
                keys.append(ProtectedKey(alias, reader.take(reader.number(4)), reader.chain(version)))
            else:
                raise MalformedStoreError(f"the entry {alias!r} is neither a certificate nor a private key: tag {tag}")
        return cls(tuple(trusted), tuple(keys))


class _Reader:
    """Takes one field after the other; none is longer than what is left."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def take(self, length: int) -> bytes:
        if length > len(self._data) - self._position:
            raise MalformedStoreError(f"it ends within a field of {length:,} bytes at position {self._position:,}")
        self._position += length
        return self._data[self._position - length : self._position]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def text(self) -> str:
        return self.take(self.number(2)).decode(errors="replace")

    def certificate(self, version: int) -> bytes:
        kind = self.text() if version > 1 else "X.509"
        if kind != "X.509":
            raise MalformedStoreError(f"it holds a certificate of type {kind!r}, not X.509")
        return self.take(self.number(4))

    def chain(self, version: int) -> tuple[bytes, ...]:
        length = self.number(4)
        if length > _MOST_CERTIFICATES:
            raise MalformedStoreError(f"it has a chain of {length:,} certificates")
        return tuple(self.certificate(version) for _ in range(length))


def _masks(secret: bytes, salt: bytes) -> Iterator[int]:
    block = salt
    for _ in count():
        block = _sha1(secret + block)
        yield from block


def _sha1(data: bytes) -> bytes:
    """Return what the format asks for."""
    return hashlib.sha1(data, usedforsecurity=False).digest()


def _octets_of(encrypted_key: bytes) -> bytes:
    """Return the octets of an EncryptedPrivateKeyInfo (RFC 5958), whose algorithm is always the format's own."""
    outer = _Reader(encrypted_key, 0)
    inner = _Reader(_der(outer, _SEQUENCE), 0)
    _der(inner, _SEQUENCE)
    return _der(inner, _OCTETS)


def _der(reader: _Reader, tag: int) -> bytes:
    if reader.number(1) != tag:
        raise MalformedStoreError("a private key is not in DER")
    length = reader.number(1)
    return reader.take(length if length < 0x80 else reader.number(length & 0x7F))
