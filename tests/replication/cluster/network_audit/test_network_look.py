"""One look at a partition: who lies, is away or has moved does not count, is named, and spoils no other replica."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from replication.cluster.network_audit import network_look
from replication.cluster.network_audit.network_look import ASKED_AGAIN, NetworkLook, troubles_of, unsettled
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition
from replication.copies.audit.local.live_look import LiveLook
from replication.copies.audit.local.live_passes import NOTHING_WRONG, Troubles
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchRequest
from tests.replication.cluster.network_audit.answering_replica import T0, AnsweringReplica, Lying, reader_of
from tests.replication.copies.audit.logs import Copy, Written, change_record

BATCHES = tuple(Written(epoch, 5) for epoch in (0, 0, 1, 1, 2))
END = 25
LED = ReplicatedPartition(T0, None, leader=1, leader_epoch=7, replicas=(1, 2, 3), isr=(1, 2, 3))


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as executor:
        yield executor


@pytest.fixture
def replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, AnsweringReplica]:
    monkeypatch.setattr(network_look, "TOLD_SOON", 0)
    partitions = {number: Copy(BATCHES).write(tmp_path / f"broker-{number}") for number in (1, 2, 3)}
    return {number: AnsweringReplica.of(partition, END) for number, partition in partitions.items()}


def look(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, partition: ReplicatedPartition = LED
) -> LiveLook:
    readers = {number: reader_of(replica, f"broker-{number}") for number, replica in replicas.items()}
    return NetworkLook(readers, executor, {T0.topic: False}).at(partition)


def verdicts(seen: LiveLook) -> list[str]:
    assert seen.judged is not None
    found: list[str] = seen.judged["verdicts"]
    return found


def unread(seen: LiveLook) -> dict[str, str]:
    return {
        finding["replica"]: finding["message"]
        for row in seen.rows.values()
        for finding in row["findings"]
        if finding["kind"] == "file-unreadable"
    }


def moved(seen: LiveLook) -> dict[str, str]:
    return {job.replica: why for job, why in seen.moved.items()}


def test_replicas_that_agree_are_identical(replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor) -> None:
    seen = look(replicas, executor)
    assert (verdicts(seen), moved(seen), unread(seen)) == (["identical"], {}, {})
    assert seen.judged is not None
    assert [each["records"] for each in seen.judged["branches"]] == [END] * 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"high_watermark": -1}, "throttled|high watermark"),
        ({"records": bytes(100)}, "bytes that are no batch"),
        ({"error": ErrorCode.TOPIC_AUTHORIZATION_FAILED, "high_watermark": -1}, "READ on the topic"),
    ],
)
def test_a_broker_that_lies_is_named_and_the_others_are_compared(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, changes: dict[str, Any], said: str
) -> None:
    liar = replicas[3]
    replicas[3] = Lying(liar.data, liar.start, liar.high_watermark, changes=changes)
    seen = look(replicas, executor)
    assert verdicts(seen) == ["unknown"]
    ((name, message),) = unread(seen).items()
    assert name == "broker-3"
    assert message.startswith("broker-3: nothing was compared: ")
    assert any(each in message for each in said.split("|"))
    assert seen.judged is not None
    assert [each["replica"] for each in seen.judged["branches"]] == ["broker-1", "broker-2"]


def test_a_broker_that_the_metadata_does_not_name_is_down(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor
) -> None:
    del replicas[2]
    seen = look(replicas, executor)
    assert verdicts(seen) == ["unknown"]
    assert "it is down" in unread(seen)["broker-2"]


def test_a_replica_whose_broker_knows_of_a_later_leader_has_moved(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor
) -> None:
    replicas[2].leader_epoch = 8
    seen = look(replicas, executor)
    assert verdicts(seen) == ["unknown"]
    assert moved(seen) == {"broker-2": "the broker answers FENCED_LEADER_EPOCH to offset 0"}


def test_a_partition_that_nobody_leads_is_looked_at_again(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor
) -> None:
    seen = look(replicas, executor, replace(LED, leader=-1))
    assert verdicts(seen) == ["unknown"]
    assert set(moved(seen).values()) == {"no broker leads the partition"}
    assert len(seen.moved) == 3


def test_a_follower_in_sync_that_is_about_to_hear_of_the_high_watermark_is_asked_again(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor
) -> None:
    replicas[2] = _Hearing(replicas[2].data, 0, 10, heard_after=2)
    seen = look(replicas, executor)
    assert verdicts(seen) == ["identical"]
    assert seen.judged is not None
    assert {each["log_end_offset"] for each in seen.judged["branches"]} == {END}


def test_one_that_does_not_hear_of_it_bounds_what_is_compared(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor
) -> None:
    replicas[2].high_watermark = 10
    seen = look(replicas, executor)
    assert verdicts(seen) == ["identical"]
    assert seen.judged is not None
    assert {each["log_end_offset"] for each in seen.judged["branches"]} == {10}
    starts = [each for each in replicas[2].requests if not isinstance(each, FetchRequest)]
    assert len(starts) == ASKED_AGAIN + 1


def test_one_that_is_not_in_sync_lags(replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor) -> None:
    replicas[2].high_watermark = 10
    assert verdicts(look(replicas, executor, replace(LED, isr=(1, 3)))) == ["lagging"]


def test_a_replica_that_answers_otherwise_when_it_is_read_again_has_moved(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    partition = Copy(BATCHES).write(tmp_path / "changed")
    change_record(partition, 5)
    changed = AnsweringReplica.of(partition, END)
    replicas[2] = _Changing(changed.data, 0, END, later=replicas[2].data)
    seen = look(replicas, executor)
    assert verdicts(seen)[0] == "unknown"
    assert moved(seen) == {"broker-2": "its broker answers otherwise than before, or not again"}


def test_what_is_wrong_is_the_same_only_where_it_is_at_the_same_place(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    found: list[Troubles] = []
    for offset in (5, 5, 10):
        partition = Copy(BATCHES).write(tmp_path / f"changed-{len(found)}")
        change_record(partition, offset)
        replicas[2] = AnsweringReplica.of(partition, END)
        seen = look(replicas, executor)
        assert verdicts(seen) == ["silent-divergence"]
        found.append(troubles_of(seen))
    assert found[0] == found[1] != found[2]
    replicas[2] = replicas[1]
    assert troubles_of(look(replicas, executor)) == NOTHING_WRONG


def test_what_differs_otherwise_each_time_is_unknown(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor
) -> None:
    seen = unsettled(look(replicas, executor))
    assert verdicts(seen) == ["unknown"]
    assert moved(seen) == dict.fromkeys(
        ["broker-1", "broker-2", "broker-3"], "what differs was something else each time"
    )


class _Hearing(AnsweringReplica):
    """Has the leader's high watermark once it was asked some times where it starts."""

    def __init__(self, data: bytes, start: int, high_watermark: int, heard_after: int) -> None:
        super().__init__(data, start, high_watermark)
        self._left = heard_after

    def answer(self, request: Any) -> Any:
        if not isinstance(request, FetchRequest):
            self._left -= 1
            self.high_watermark = END if self._left < 0 else self.high_watermark
        return super().answer(request)


class _Changing(AnsweringReplica):
    """Has other batches once all were read."""

    def __init__(self, data: bytes, start: int, high_watermark: int, later: bytes) -> None:
        super().__init__(data, start, high_watermark)
        self._later = later

    def answer(self, request: Any) -> Any:
        fetches = [each for each in self.requests if isinstance(each, FetchRequest)]
        self.data = self.data if len(fetches) < 2 else self._later
        return super().answer(request)
