"""Which answers about truncation count, and for which partitions."""

import pytest

from logstore import TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.decisions.fetch_state_machine import LeaderOffsets
from replication.cluster.fetcher.fetcher_settings import FetchIdentity
from replication.cluster.fetcher.requests.open_questions import OpenQuestions, TruncationRequest
from replication.wire.error_code import ErrorCode
from replication.wire.messages.list_offsets import EARLIEST, LATEST, ListedOffset, ListOffsetsRequest

PARTITION, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
STATE = FetchState(5, 100, phase=Phase.LOCATING)


@pytest.fixture
def questions() -> OpenQuestions:
    return OpenQuestions(FetchIdentity(5))


def ask_offsets(questions: OpenQuestions) -> list[ListOffsetsRequest]:
    asked = list(questions.ask_offsets({PARTITION: STATE}))
    assert all(isinstance(each, ListOffsetsRequest) for each in asked)
    return asked  # type: ignore[return-value]


def offsets(
    questions: OpenQuestions, request: ListOffsetsRequest, offset: int, state: FetchState = STATE
) -> LeaderOffsets | None:
    question = request.partitions[PARTITION]
    return questions.offsets(PARTITION, state, question, ListedOffset(ErrorCode.NONE, offset))


def test_each_is_answered_once(questions: OpenQuestions) -> None:
    (epochs,) = questions.ask_epochs({PARTITION: (STATE, 3), OTHER: (STATE, 4)})
    assert questions
    assert questions.answered(epochs) == {PARTITION: STATE, OTHER: STATE}
    assert questions.answered(epochs) == {}
    assert not questions


def test_nothing_is_asked_about_nothing(questions: OpenQuestions) -> None:
    asked: list[TruncationRequest] = [*questions.ask_epochs({}), *questions.ask_offsets({})]
    assert asked == []


def test_the_end_of_a_log_is_asked_for_before_its_start(questions: OpenQuestions) -> None:
    latest, earliest = ask_offsets(questions)
    assert [each.partitions[PARTITION].timestamp for each in (latest, earliest)] == [LATEST, EARLIEST]
    assert offsets(questions, latest, 90) is None
    assert offsets(questions, earliest, 10) == LeaderOffsets(10, 90)
    assert offsets(questions, earliest, 10) is None


def test_both_must_be_about_the_same_state(questions: OpenQuestions) -> None:
    latest, earliest = ask_offsets(questions)
    offsets(questions, latest, 90)
    assert offsets(questions, earliest, 10, STATE.delayed(7, "another")) is None


def test_what_was_cleared_is_expected_no_more(questions: OpenQuestions) -> None:
    latest, earliest = ask_offsets(questions)
    offsets(questions, latest, 90)
    questions.clear()
    assert not questions
    assert questions.answered(latest) == {}
    assert offsets(questions, earliest, 10) is None
