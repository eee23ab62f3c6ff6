"""Limits of clients are described by what the metadata has, for whom they are asked."""

from typing import Any

import pytest

from replication.cluster.broker.requests.cluster.described_quotas import API_KEY, VERSIONS, DescribedQuotas
from replication.records.metadata.records import ClientQuotaRecord
from replication.records.metadata.records.settings import QuotaEntity
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.authorization.random_questions import kio_request
from tests.replication.cluster.broker.requests.small_broker import SmallBroker, call

EXACT, DEFAULT, SPECIFIED = range(3)
RATE = "producer_byte_rate"
ALICE, EVERYBODY, ALICES_TOOL, ADDRESS = (
    {"user": "alice"},
    {"user": None},
    {"client-id": "tool", "user": "alice"},
    {"ip": "127.0.0.1"},
)


@pytest.fixture
def limited(broker: SmallBroker) -> SmallBroker:
    for value, entity in enumerate((ALICE, EVERYBODY, ALICES_TOOL, ADDRESS)):
        parts = tuple(QuotaEntity(entity_type=kind, entity_name=name) for kind, name in entity.items())
        broker.tell(ClientQuotaRecord(entity=parts, key=RATE, value=float(value)))
    return broker


def ask(broker: SmallBroker, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1) -> Any:
    named = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components]
    request = kio_request(API_KEY, version, {"components": named, "strict": strict})
    return DescribedQuotas(broker.cluster).answer(request, call(version))


def told(broker: SmallBroker, *components: tuple[str, int, str | None], **how: Any) -> list[dict[str, str | None]]:
    answer = ask(broker, *components, **how)
    assert answer.error_code is ErrorCode.NONE
    entries = sorted(answer.entries, key=lambda entry: entry.values[0].value)
    return [{part.entity_type: part.entity_name for part in entry.entity} for entry in entries]


@pytest.mark.parametrize("version", VERSIONS)
def test_who_asks_for_nobody_is_told_of_all(limited: SmallBroker, version: int) -> None:
    assert told(limited, version=version) == [ALICE, EVERYBODY, ALICES_TOOL, ADDRESS]


def test_one_user_is_asked_for_by_name_with_and_without_what_else_is_of_it(limited: SmallBroker) -> None:
    assert told(limited, ("user", EXACT, "alice")) == [ALICE, ALICES_TOOL]
    assert told(limited, ("user", EXACT, "alice"), strict=True) == [ALICE]
    assert told(limited, ("user", EXACT, "alice"), ("client-id", SPECIFIED, None)) == [ALICES_TOOL]


def test_the_default_and_all_of_a_type_are_asked_for_without_a_name(limited: SmallBroker) -> None:
    assert told(limited, ("user", DEFAULT, None)) == [EVERYBODY]
    assert told(limited, ("user", SPECIFIED, None), strict=True) == [ALICE, EVERYBODY]
    assert told(limited, strict=True) == []


def test_what_limits_them_is_told_by_its_name(limited: SmallBroker) -> None:
    (entry,) = ask(limited, ("ip", EXACT, "127.0.0.1")).entries
    assert [(each.key, each.value) for each in entry.values] == [(RATE, 3.0)]


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([("", EXACT, "alice")], ErrorCode.INVALID_REQUEST),
        ([("group", EXACT, "readers")], ErrorCode.UNSUPPORTED_VERSION),
        ([("user", EXACT, None)], ErrorCode.INVALID_REQUEST),
        ([("user", DEFAULT, "alice")], ErrorCode.INVALID_REQUEST),
        ([("user", SPECIFIED, "alice")], ErrorCode.INVALID_REQUEST),
        ([("user", 3, None)], ErrorCode.INVALID_REQUEST),
        ([("user", DEFAULT, None), ("user", EXACT, "alice")], ErrorCode.INVALID_REQUEST),
        ([("user", DEFAULT, None), ("ip", DEFAULT, None)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_asked_is_refused_whole(
    limited: SmallBroker, components: list[tuple[str, int, str | None]], error: ErrorCode
) -> None:
    answer = ask(limited, *components)
    assert (answer.error_code, answer.entries) == (error, None)
    assert answer.error_message
