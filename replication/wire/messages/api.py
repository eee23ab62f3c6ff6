"""One API: its requests and its answers, in both directions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from replication.records.codec.fields import Data
from replication.records.codec.gathered import Part

API_VERSIONS: Final = 18


class MessageForm(Protocol):
    """How one kind of message is written and read, such as a Form."""

    def write(self, message: Any, version: int) -> bytes:
        """Return a message as bytes; InvalidMessageError if the version cannot say it."""

    def read(self, data: Data, version: int) -> Any:
        """Read a message; errors, and what may follow it, as those of `read_message`."""


class AnswerForm(MessageForm, Protocol):
    """How one kind of answer is written and read."""

    def write_parts(self, message: Any, version: int) -> list[Part]:
        """Return what makes up an answer, with larger views of records as they are; errors as those of `write`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """How one kind of request is asked and answered."""

    key: int
    name: str
    served: range
    """The versions that can be read and written."""
    versions: Callable[[Any], range]
    """Returns the versions that can carry a request."""
    flexible_since: int
    request: MessageForm
    response: AnswerForm
    read_answer: Callable[[Any, Data, int], Any]
    """Reads the answer to a request, in a version; may need to know what was asked."""

    def is_flexible(self, version: int) -> bool:
        """Whether requests have the flexible header in a version (KIP-482)."""
        return version >= self.flexible_since

    def is_answer_flexible(self, version: int) -> bool:
        """Whether answers have the flexible header: those to ApiVersions never do (KIP-511)."""
        return self.key != API_VERSIONS and self.is_flexible(version)
