"""Small files of this library's own: JSON with a checksum, so that a flipped bit is not taken for another number."""

import json
from collections.abc import Mapping
from typing import Any, Final
from zlib import crc32

_CHECKSUM: Final = "checksum"


def encode_checked(content: Mapping[str, Any]) -> bytes:
    """Return a file's bytes."""
    return json.dumps({**content, _CHECKSUM: _checksum(content)}).encode()


def decode_checked(data: bytes) -> dict[str, Any]:
    """Return the content of a file. Raises ValueError, also for what is none, and RecursionError."""
    content = json.loads(data)
    if not isinstance(content, dict) or content.pop(_CHECKSUM, None) != _checksum(content):
        raise ValueError("its checksum does not match")
    return content


def _checksum(content: Mapping[str, Any]) -> int:
    return crc32(json.dumps(content, sort_keys=True).encode())
