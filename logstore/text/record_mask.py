"""Records without what their producers put into them: a keyed hash, or the length, in the place of each content."""

import hmac
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, Self, TypeVar, cast

from logstore.text.mask_salt import random_salt

MASKED: Final = "masked:"
"""What everything begins with that stands in a content's place."""
PARTS: Final = ("keys", "values")
_HASH_BYTES: Final = 16
"""Of the 32 that HMAC-SHA-256 gives: enough that no two contents of one cluster have the same."""


class MaskForm(StrEnum):
    """What stands in a content's place."""

    HASH = "hash"
    """A hash that is keyed with the salt: the same for the same content, and nothing that leads back to it."""
    LENGTH = "length"
    """How many bytes it has."""


class _Contents(Protocol):
    """A named tuple with what a producer puts into a record."""

    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> tuple[Any, ...]: ...


def masked_length(size: int) -> bytes:
    """Return what stands in the place of a content of so many bytes, of which nothing else is shown."""
    return f"{MASKED}{size} bytes".encode()


AnyRecord = TypeVar("AnyRecord", bound=_Contents)


@dataclass(frozen=True, slots=True)
class RecordMask:
    """Takes contents out of records, and leaves what else is known of them: offsets, times, epochs, producers' ids.

    Headers count as values, their names too: an application may put anything there. That there is no key, or no
    value (a tombstone), stays visible, and so does how many headers there are.

    >>> mask = RecordMask.of("keys,values")
    >>> mask.record(record).key
    b'masked:6b1f0f6e1b0c9fd2a1c0f3a94c9d2f70'
    """

    keys: bool = True
    values: bool = True
    form: MaskForm = MaskForm.HASH
    salt: bytes = field(default_factory=random_salt, repr=False)
    """What the hash is keyed with. Whoever has it can try out guesses; under another salt all masks are others."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What is masked: `keys`, `values` or both."""
        return tuple(part for part in PARTS if getattr(self, part))

    @classmethod
    def of(cls, parts: str, form: str = MaskForm.HASH, salt: bytes | None = None) -> Self:
        """Return what masks `keys`, `values` or `keys,values`. Raises ValueError for other words."""
        named = [part.strip().lower() for part in parts.split(",")]
        if not set(named) <= set(PARTS) or len(named) > len(set(named)):
            raise ValueError(f"{parts!r} is none of keys, values, and keys,values")
        if form not in list(MaskForm):
            raise ValueError(f"{form!r} is neither {' nor '.join(MaskForm)}")
        return cls("keys" in named, "values" in named, MaskForm(form), random_salt() if salt is None else salt)

    def key(self, content: bytes | None) -> bytes | None:
        """Return what is shown of a key; None where there is none."""
        return self.masked(content) if self.keys and content is not None else content

    def value(self, content: bytes | None) -> bytes | None:
        """Return what is shown of a value, or of a header's; None where there is none."""
        return self.masked(content) if self.values and content is not None else content

    def name_in_key(self, name: str) -> str:
        """Return what is shown of a name that a key consists of: a group's, or a transactional id."""
        return self.masked(name.encode(errors="surrogateescape")).decode() if self.keys else name

    def header(self, name: str) -> str:
        """Return what is shown of a header's name."""
        return self.masked(name.encode(errors="surrogateescape")).decode() if self.values else name

    def record(self, record: AnyRecord) -> AnyRecord:
        """Return a record with its contents masked."""
        headers = tuple(
            each._replace(key=self.header(each.key), value=self.value(each.value)) for each in record.headers
        )
        named_tuple: Any = record
        masked = named_tuple._replace(key=self.key(record.key), value=self.value(record.value), headers=headers)
        return cast("AnyRecord", masked)

    def masked(self, content: bytes) -> bytes:
        """Return what stands in a content's place."""
        if self.form is MaskForm.LENGTH:
            return masked_length(len(content))
        return f"{MASKED}{hmac.digest(self.salt, content, 'sha256')[:_HASH_BYTES].hex()}".encode()
