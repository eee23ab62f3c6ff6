"""What is said of a transaction that fails: whether it is there, and what to do."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from logstore.topic_partition import TopicPartition
from replication.copies.salvage.cluster import salvage_producer
from replication.copies.salvage.cluster.connection import Connection
from replication.copies.salvage.cluster.salvage_producer import SalvageProducer
from replication.salvage import ClusterError, TransactionSize

TO = TopicPartition("t", 0)


class FakeProducer:
    """A client whose commits fail with `errors` in turn, and then succeed."""

    errors: tuple[KafkaError, ...] = ()
    made: "FakeProducer"

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.calls: list[str] = []
        self.left = list(self.errors)
        FakeProducer.made = self

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def produce(self, *_: object, **__: object) -> None:
        self.calls.append("produce")

    def poll(self, _: float) -> None:
        """Nothing to tell."""

    def commit_transaction(self, _: float) -> None:
        self.calls.append("commit")
        if self.left:
            raise KafkaException(self.left.pop(0))

    def abort_transaction(self, _: float) -> None:
        self.calls.append("abort")


def commit(monkeypatch: pytest.MonkeyPatch, *errors: KafkaError, seconds: float = 60) -> FakeProducer:
    monkeypatch.setattr(salvage_producer, "Producer", FakeProducer)
    monkeypatch.setattr(salvage_producer, "_SECONDS_TO_COMMIT", seconds)
    monkeypatch.setattr(FakeProducer, "errors", errors)
    producer = SalvageProducer(Connection({"bootstrap.servers": "here:1"}), 100, 1_000)
    producer.write([(b"a", None, 1, [])], TO)
    producer.commit()
    return FakeProducer.made


def unanswered() -> KafkaError:
    return KafkaError(KafkaError._TIMED_OUT, "no answer", retriable=True)


def test_a_commit_that_is_not_answered_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert commit(monkeypatch, unanswered(), unanswered()).calls == ["begin", "produce", *["commit"] * 3]


def test_after_the_deadline_it_is_not_known_whether_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match=r"is not known.*the same command, run again, finds out.*_TIMED_OUT"):
        commit(monkeypatch, unanswered(), seconds=-1)


def test_nor_where_another_run_came_while_the_answer_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fenced = KafkaError(KafkaError._FENCED, "fenced", fatal=True)
    with pytest.raises(
        ClusterError, match=r"is not known.*another run of salvage.* or this transaction was open for so"
    ):
        commit(monkeypatch, fenced)


def test_one_that_the_client_has_to_abort_was_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = KafkaError(KafkaError._INCONSISTENT, "records failed", txn_requires_abort=True)
    with pytest.raises(ClusterError, match=r"a transaction was not written: .*records failed"):
        commit(monkeypatch, refused)
    assert FakeProducer.made.calls[-1] == "abort"


def test_transactions_may_be_open_for_longer_than_a_commit_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 10 * TransactionSize().seconds + salvage_producer._SECONDS_TO_COMMIT  # where transactions overlap
    allowed = commit(monkeypatch).settings["transaction.timeout.ms"] / 1_000
    assert longest < allowed <= 900, "and no longer than brokers allow by default"
