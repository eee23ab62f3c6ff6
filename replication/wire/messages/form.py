"""One kind of message in all its versions: from our terms to bytes, and back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from replication.records.codec.codec import codec_of
from replication.records.codec.fields import Data
from replication.records.codec.gathered import Part
from replication.wire.encoding.message_bytes import read_message, write_message, write_message_parts

MessageT = TypeVar("MessageT")


def _itself(message: Any, _: int) -> Any:
    return message


def _nothing(_: Any, __: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Form(Generic[MessageT]):
    """How a message is written and read: in `encode` and `decode` as its fields, by the codec of these as bytes."""

    name: str
    """Such as FetchRequest."""
    fields: type[Any]
    """The annotated class of the fields, as all versions have them."""
    flexible_since: int
    encode: Callable[[MessageT, int], Any] = _itself
    """Returns the fields of a message, in a version; left out where the message is an instance of `fields`."""
    decode: Callable[[Any, int], MessageT] = _itself
    read_plain: Callable[[Data, int], MessageT | None] = _nothing
    """Reads what is most often sent in less time; None for anything else, valid or not."""
    write_plain: Callable[[MessageT, int], list[Part] | None] = _nothing
    """Writes it in parts, as `write_parts`; None for anything else."""

    def write(self, message: MessageT, version: int) -> bytes:
        """Return a message as bytes; InvalidMessageError if the version cannot say it."""
        plain = self.write_plain(message, version)
        return self.write_fields(self.encode(message, version), version) if plain is None else b"".join(plain)

    def write_parts(self, message: MessageT, version: int) -> list[Part]:
        """Return what makes up a message, with views of records as they are; InvalidMessageError as in `write`."""
        plain = self.write_plain(message, version)
        if plain is not None:
            return plain
        return write_message_parts(self._codec(version), self.encode(message, version), self.name)

    def read(self, data: Data, version: int) -> MessageT:
        """Read a message that takes up all the bytes; after a request more may follow.

        MalformedRequestError or MalformedResponseError if it does not.
        """
        plain = self.read_plain(data, version)
        return self.decode(self.read_fields(data, version), version) if plain is None else plain

    def read_fields(self, data: Data, version: int) -> Any:
        """Read the fields alone; errors as those of `read`."""
        return read_message(self._codec(version), data, self.name)

    def write_fields(self, fields: Any, version: int) -> bytes:
        """Return the fields as bytes; InvalidMessageError if the version cannot say them."""
        return write_message(self._codec(version), fields, self.name)

    def _codec(self, version: int) -> Any:
        return codec_of(self.fields, version, flexible=version >= self.flexible_since)
