"""Kafka's error codes as exceptions."""

import builtins

import pytest

from replication.base.errors import ReplicationError
from replication.wire import errors
from replication.wire.error_code import ErrorCode
from replication.wire.errors import FencedLeaderEpochError, KafkaError, error_for, raise_for


@pytest.mark.parametrize("code", [code for code in ErrorCode if code is not ErrorCode.NONE])
def test_every_code_has_an_exception_that_knows_whether_to_try_again(code: ErrorCode) -> None:
    error = error_for(code, "asking broker 1")
    assert isinstance(error, KafkaError)
    assert (error.code, error.retriable, error.name) == (code, code.retriable, code.name)
    assert str(error) == f"asking broker 1: {code.name} ({int(code)})"


def test_no_error_raises_nothing_and_an_error_raises_its_own_class() -> None:
    raise_for(ErrorCode.NONE)
    with pytest.raises(FencedLeaderEpochError, match=r"orders-0: FENCED_LEADER_EPOCH \(74\)"):
        raise_for(ErrorCode.FENCED_LEADER_EPOCH, "orders-0")


def test_every_error_is_one_of_replication_and_a_builtin() -> None:
    known = {value for value in vars(builtins).values() if isinstance(value, type) and issubclass(value, Exception)}
    known -= {Exception, BaseException}
    ours = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(ours) > 10
    for kind in ours:
        if kind is not ReplicationError:
            assert issubclass(kind, ReplicationError)
            assert known & set(kind.__mro__)
