"""Idempotent producers get ids that nobody has had."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from replication.cluster.broker.requests.writing.given_producer_ids import GivenProducerIds
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.events.heard_troubles import HeardTroubles
from tests.replication.cluster.broker.lifecycle.unanswering import Unanswering, wait_until
from tests.replication.cluster.broker.requests.small_broker import call
from tests.replication.cluster.broker.requests.writing.leading import WritingBroker

INIT_PRODUCER_ID = 22
VERSIONS = pytest.mark.parametrize("version", range(6))


class Blocks:
    """Blocks of ids, one after the other."""

    def __init__(self, *blocks: range | Exception) -> None:
        self._blocks = iter(blocks)

    def next_block(self) -> range:
        block = next(self._blocks)
        if isinstance(block, Exception):
            raise block
        return block


def request(version: int = 5, **fields: Any) -> Any:
    known = {"transactional_id": None, "transaction_timeout": timedelta(0)}
    if version >= 3:
        known |= {"producer_id": -1, "producer_epoch": -1}
    return request_classes(INIT_PRODUCER_ID, version).InitProducerIdRequest(**{**known, **fields})


def told(answer: Any) -> tuple[ErrorCode, int, int]:
    return ErrorCode(answer.error_code), answer.producer_id, answer.producer_epoch


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[WritingBroker]:
    leading = WritingBroker(tmp_path, producer_ids=Blocks(range(7_000, 8_000)))
    yield leading
    leading.close()


@VERSIONS
def test_an_idempotent_producer_gets_an_id_and_begins_with_epoch_0(broker: WritingBroker, version: int) -> None:
    answer = broker.exchange(INIT_PRODUCER_ID, request(version), version)
    assert told(answer) == (ErrorCode.NONE, 7_000, 0)


def test_the_last_id_of_a_block_is_followed_by_the_first_of_another_one() -> None:
    given = GivenProducerIds(Blocks(range(2), range(50, 52)))
    assert [told(given.answer(request(), call(5)))[1] for _ in range(4)] == [0, 1, 50, 51]


def test_threads_get_different_ids() -> None:
    given = GivenProducerIds(Blocks(*(range(start, start + 10) for start in range(0, 1_000, 10))))
    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(lambda _: told(given.answer(request(), call(5)))[1], range(1_000)))
    assert sorted(ids) == list(range(1_000))


@pytest.mark.parametrize("block", [OSError("no space left"), range(0)], ids=["failure", "nothing left"])
def test_where_there_are_no_ids_producers_try_again(block: range | Exception) -> None:
    given = GivenProducerIds(Blocks(block, range(5, 6)))
    assert told(given.answer(request(), call(5))) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    assert told(given.answer(request(), call(5))) == (ErrorCode.NONE, 5, 0)


def test_that_there_are_no_ids_is_told_once_and_that_there_are_again() -> None:
    heard = HeardTroubles()
    given = GivenProducerIds(Blocks(OSError("nobody leads"), OSError("nobody leads"), range(1)), tell=heard)
    for _ in range(2):
        given.answer(request(), call(5))
    assert heard == ["producer-ids"]
    assert heard.reasons == ["this broker is given no ids for producers: nobody leads"]
    given.answer(request(), call(5))
    assert heard == ["producer-ids", "producer-ids over"]


def test_those_who_wait_while_nobody_gives_ids_are_told_so_together() -> None:
    nobody = Unanswering()
    given = GivenProducerIds(nobody)
    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(given.answer, request(), call(5)) for _ in range(8)]
        wait_until(lambda: given._turns.waiting == 7)
        nobody.let_go.set()
        assert {told(each.result())[0] for each in answers} == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    assert len(nobody.asked) == 1


def test_a_producer_that_had_an_id_gets_another_one() -> None:
    given = GivenProducerIds(Blocks(range(5, 9)))
    assert told(given.answer(request(producer_id=3, producer_epoch=7), call(5))) == (ErrorCode.NONE, 5, 0)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"producer_id": 3}, ErrorCode.INVALID_REQUEST),
        ({"producer_epoch": 3}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": "t"}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ],
)
def test_what_makes_no_sense_or_needs_a_coordinator_gets_none(fields: dict[str, Any], error: ErrorCode) -> None:
    given = GivenProducerIds(Blocks())
    assert told(given.answer(request(**fields), call(5))) == (error, -1, -1)


def test_a_transactional_producer_looks_for_its_coordinator_where_there_are_some() -> None:
    given = GivenProducerIds(Blocks(), has_coordinators=True)
    assert told(given.answer(request(transactional_id="t"), call(5))) == (ErrorCode.NOT_COORDINATOR, -1, -1)
