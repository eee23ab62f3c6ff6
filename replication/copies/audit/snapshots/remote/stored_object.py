"""By what a store tells one object under a name from another: S3's ETag, Google's MD5 or generation."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, Self

_DIGEST: Final = re.compile(r"[0-9a-fA-F]{32}(-[0-9]+)?")
"""S3's ETag, of an object or of the parts in which it was uploaded. With keys of KMS it is no digest of what was
uploaded, but that of no other object either."""
_VERSIONS: Final = ("ETag", "VersionId", "Last-Modified", "generation", "updated")
"""What says together that an object is the one that it was, where there is no digest."""


class StoredObject(NamedTuple):
    """What a store says of one object."""

    size: int
    """Bytes."""
    tag: str
    """Objects with the same are the same; empty where the store says nothing of the kind."""
    is_digest: bool
    """Whether a copy of the object has the same tag, whenever it was made."""

    @classmethod
    def of(cls, size: int, metadata: Mapping[bytes | str, bytes] | None) -> Self:
        """Create it from what pyarrow gives as a file's metadata."""
        told = {_text(name): _text(value).strip('"') for name, value in (metadata or {}).items()}
        if "md5Hash" in told:
            return cls(size, told["md5Hash"], is_digest=True)
        if _DIGEST.fullmatch(told.get("ETag", "")):
            return cls(size, told["ETag"], is_digest=True)
        versions = [told[name] for name in _VERSIONS if name in told]
        return cls(size, " ".join(versions), is_digest=False)


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
