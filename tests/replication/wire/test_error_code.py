"""Our error codes are Kafka's."""

import pickle

from kio.schema import errors as kio

from replication.wire.error_code import ErrorCode, code_of

NEW_IN_KAFKA_4_4 = {
    (134, "GROUP_DELETION_FAILED", False),
    (135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", False),
    (136, "CONTROLLER_ID_NOT_REGISTERED", False),
}
"""What kio 0.6.5, made from Kafka 4.3, does not have."""


def test_numbers_names_and_whether_to_try_again_are_those_of_kio_and_of_kafka_4_4() -> None:
    theirs = {(int(code), code.name.upper(), code.retriable) for code in kio.ErrorCode}
    assert {(int(code), code.name, code.retriable) for code in ErrorCode} == theirs | NEW_IN_KAFKA_4_4


def test_a_code_equals_its_number_and_kios() -> None:
    assert ErrorCode.FENCED_LEADER_EPOCH == 74
    assert kio.ErrorCode.fenced_leader_epoch == ErrorCode.FENCED_LEADER_EPOCH
    assert {ErrorCode.NONE: "fine"}[kio.ErrorCode.none] == "fine"


def test_a_number_finds_its_code_and_an_unknown_one_is_an_unknown_server_error() -> None:
    assert all(code_of(int(code)) is code for code in ErrorCode)
    assert all(code_of(code) is ErrorCode(int(code)) for code in kio.ErrorCode)
    assert code_of(137) is code_of(-2) is code_of(0x7FFF) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_code_survives_pickling() -> None:
    code = pickle.loads(pickle.dumps(ErrorCode.FENCED_LEADER_EPOCH))  # noqa: S301 - our own bytes
    assert code is ErrorCode.FENCED_LEADER_EPOCH
