"""What all our requests have in common: the type of the answer."""

from typing import Generic, TypeVar

AnswerT = TypeVar("AnswerT", covariant=True)  # noqa: PLC0105 - a name for readers, not for checkers


class Request(Generic[AnswerT]):
    """A request that is answered with an `AnswerT`, whatever version of the API carries the two."""

    __slots__ = ()
