"""The MD5 of what was uploaded, which most stores give with a file: a transfer that has it is as what lies there."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Self

PART: Final = 8 << 20
"""Bytes of one part of an upload in parts, as the AWS tools have it by default."""
_MD5_BYTES: Final = hashlib.md5(usedforsecurity=False).digest_size


class StoredDigest:
    """What a store says of one file; often it says nothing, or something else than an MD5, and then it knows nothing.

    S3's ETag is the MD5 of what was uploaded at once, and of the parts' MD5s where it was uploaded in parts. It is
    neither where the store encrypts with keys of KMS, and with parts of other sizes. Google calls its own md5Hash.
    """

    def __init__(self, digest: bytes = b"", parts: int = 0) -> None:
        """Create it from a digest: of the digests of so many parts where there are any."""
        self._digest, self._parts = digest, parts

    @classmethod
    def of(cls, metadata: Mapping[bytes | str, bytes] | None) -> Self:
        """Read it from what pyarrow gives as a file's metadata."""
        told = {_text(name): _text(value) for name, value in (metadata or {}).items()}
        try:
            if "md5Hash" in told:
                return cls(base64.b64decode(told["md5Hash"], validate=True))
            digest, _, parts = told.get("ETag", "").strip('"').partition("-")
            return cls(bytes.fromhex(digest), int(parts or 0))
        except ValueError:
            return cls()

    def is_of(self, data: bytes | Path) -> bool:
        """Whether it is the one of these bytes, or of a file with these. Raises OSError."""
        if len(self._digest) != _MD5_BYTES:
            return False
        size = data.stat().st_size if isinstance(data, Path) else len(data)
        if self._parts and self._parts != -(-size // PART):
            return False
        whole = _md5()
        for part in _parts_of(data):
            whole.update(_md5(part).digest() if self._parts else part)
        return whole.digest() == self._digest


def _md5(data: bytes = b"") -> "hashlib._Hash":
    return hashlib.md5(data, usedforsecurity=False)


def _parts_of(data: bytes | Path) -> Iterator[bytes]:
    if not isinstance(data, Path):
        yield from (data[start : start + PART] for start in range(0, len(data), PART))
        return
    with open(data, "rb") as file:
        while part := file.read(PART):
            yield part


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
