"""What all of our messages have in common."""

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from replication.wire.encoding.kio_messages import response_class, served_versions
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError
from replication.wire.messages.apis import _OURS, api_of
from tests.campaign import run_seed
from tests.replication.wire.by_kio import kio_bytes
from tests.replication.wire.instances import instance
from tests.replication.wire.questions import QUESTIONS


def test_there_is_a_question_of_each_kind() -> None:
    assert {type(request) for request, _ in QUESTIONS.values()} == set(_OURS)


@pytest.mark.parametrize(("question", "versions"), QUESTIONS.values(), ids=lambda value: type(value).__name__)
def test_answers_have_our_error_codes_by_which_all_else_decides(question: Any, versions: range) -> None:
    rng = random.Random(f"{run_seed()} {question}")
    api = api_of(question)
    kinds = [response_class(api.key, version) for version in versions if version in (served_versions(api.key) or ())]
    codes: list[Any] = []
    for kind in kinds * 20:
        with suppress(MalformedResponseError):
            codes += _codes(api.read_answer(question, kio_bytes(instance(kind, rng)), kind.__version__))
    assert {type(code) for code in codes} <= {ErrorCode}


def _codes(value: Any) -> Iterator[Any]:
    """Whatever stands for an error in an answer, whoever's it is."""
    if hasattr(value, "retriable"):
        yield value
    elif isinstance(value, Mapping):
        yield from _codes(tuple(value.values()))
    elif isinstance(value, tuple):
        for each in value:
            yield from _codes(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _codes(getattr(value, field.name))
