"""Ranges of offsets that tasks fetch give what one process finds that fetches all of it."""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from replication.cluster.network_audit import network_look
from replication.cluster.network_audit.broker_reader import BrokerReader
from replication.cluster.network_audit.distributed_look import DistributedLook, GroupTask, Reach
from replication.cluster.network_audit.network_look import NetworkLook
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition
from replication.copies.audit.local.live_look import LiveLook
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.packed_settings import PackedSettings
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.network_audit.answering_replica import T0, AnsweringReplica, Lying, reader_of
from tests.replication.cluster.network_audit.changed_files import cut_out, fork_from
from tests.replication.copies.audit.logs import Copy, Written, change_record

BATCHES = tuple(Written(epoch, 5) for epoch in (0, 0, 1, 1, 2, 2, 3, 3))
END = 40
LED = ReplicatedPartition(T0, None, leader=1, leader_epoch=7, replicas=(1, 2, 3), isr=(1, 2, 3))
Replicas = dict[int, AnsweringReplica]


def here(
    tasks: Sequence[GroupTask], first: Callable[[bytes], bytes], second: Callable[[int, Sequence[bytes]], bytes]
) -> Mapping[int, bytes]:
    """Do both steps in this process; results come in any order."""
    groups: dict[int, list[bytes]] = {}
    for group, data in reversed(tasks):
        groups.setdefault(group, []).append(first(data))
    return {group: second(group, results) for group, results in groups.items()}


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as executor:
        yield executor


@pytest.fixture
def replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replicas:
    monkeypatch.setattr(network_look, "TOLD_SOON", 0)
    partitions = {number: Copy(BATCHES).write(tmp_path / f"broker-{number}") for number in (1, 2, 3)}
    found = {number: AnsweringReplica.of(partition, END) for number, partition in partitions.items()}
    reach(found, monkeypatch)
    return found


def reach(found: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def readers(_: Reach) -> Iterator[Callable[[int], BrokerReader]]:
        yield lambda number: reader_of(found[number], f"broker-{number}")

    monkeypatch.setattr(Reach, "readers", readers)


def looks(
    replicas: Replicas, executor: ThreadPoolExecutor, offsets: int, *, is_compacted: bool | None = False, **more: Any
) -> tuple[LiveLook, LiveLook]:
    """Look at the partition in this process, and in tasks."""
    readers = {number: reader_of(replica, f"broker-{number}") for number, replica in replicas.items()}
    known = {T0.topic: is_compacted} if is_compacted is not None else {}
    network = NetworkLook(readers, executor, known, **more)
    reach_ = Reach("nowhere:1", PackedSettings.of(ClientSettings()))
    return network.at(LED), DistributedLook(network, reach_, here, offsets).at({5: LED})[5]


def told(seen: LiveLook) -> Any:
    """Return all that is said, but for where what is fetched again would be put."""
    judged = None if seen.judged is None else {**seen.judged}
    rows = {
        job.replica: {name: value for name, value in row.items() if name != "summary"} for job, row in seen.rows.items()
    }
    return judged, rows, {job.replica: why for job, why in seen.moved.items()}


@pytest.mark.parametrize("offsets", [1, 3, 5, 7, 1_000])
@pytest.mark.parametrize("is_compacted", [False, None, True])
def test_replicas_that_agree_are_identical(
    replicas: Replicas, executor: ThreadPoolExecutor, offsets: int, is_compacted: bool | None
) -> None:
    whole, in_ranges = looks(replicas, executor, offsets, is_compacted=is_compacted, records=True)
    assert told(in_ranges) == told(whole)
    assert whole.judged is not None
    assert whole.judged["verdicts"] == ["identical"]


@pytest.mark.parametrize("offsets", [4, 5, 1_000])
@pytest.mark.parametrize("is_compacted", [False, None])
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda partition: change_record(partition, 15), "silent-divergence"),
        (lambda partition: cut_out(partition, 15, 20), "missing"),
        (lambda partition: fork_from(partition, 25, 9), "forked"),
    ],
    ids=["flipped", "lacking", "forked"],
)
def test_what_differs_is_found_alike(
    tmp_path: Path,
    replicas: Replicas,
    executor: ThreadPoolExecutor,
    offsets: int,
    is_compacted: bool | None,
    change: Callable[[Any], None],
    verdict: str,
) -> None:
    partition = Copy(BATCHES).write(tmp_path / "changed")
    change(partition)
    replicas[3] = AnsweringReplica.of(partition, END)
    whole, in_ranges = looks(replicas, executor, offsets, is_compacted=is_compacted)
    assert told(in_ranges) == told(whole)
    assert whole.judged is not None
    assert verdict in whole.judged["verdicts"]


@pytest.mark.parametrize(
    "changes", [{"high_watermark": -1}, {"records": bytes(100)}, {"error": ErrorCode.FENCED_LEADER_EPOCH}]
)
def test_a_broker_that_lies_or_has_moved_is_named(
    replicas: Replicas, executor: ThreadPoolExecutor, changes: dict[str, Any]
) -> None:
    liar = replicas[3]
    replicas[3] = Lying(liar.data, liar.start, liar.high_watermark, changes=changes)
    whole, in_ranges = looks(replicas, executor, 6)
    assert in_ranges.judged is not None
    assert whole.judged is not None
    assert in_ranges.judged["verdicts"] == whole.judged["verdicts"] == ["unknown"]
    assert {job.replica for job in in_ranges.moved} == {job.replica for job in whole.moved}


def test_a_range_that_cannot_be_fetched_later_spoils_its_replica_alone(
    replicas: Replicas, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = replicas[2]
    lying = Lying(liar.data, liar.start, liar.high_watermark, changes={"error": ErrorCode.CORRUPT_MESSAGE})
    reach({**replicas, 2: lying}, monkeypatch)
    _, in_ranges = looks(replicas, executor, 6)
    assert in_ranges.judged is not None
    assert in_ranges.judged["unread"] == ["broker-2"]
    assert [each["replica"] for each in in_ranges.judged["branches"]] == ["broker-1", "broker-3"]


def test_a_partition_that_nobody_leads_needs_no_task(replicas: Replicas, executor: ThreadPoolExecutor) -> None:
    readers = {number: reader_of(replica, f"broker-{number}") for number, replica in replicas.items()}
    network = NetworkLook(readers, executor, {T0.topic: False})
    reach_ = Reach("nowhere:1", PackedSettings.of(ClientSettings()))
    found = DistributedLook(network, reach_, here).at({5: replace(LED, leader=-1)})
    assert {job.replica for job in found[5].moved} == {"broker-1", "broker-2", "broker-3"}


def copied(each: Any) -> Any:
    return pickle.loads(pickle.dumps(each))  # noqa: S301  its own


def test_what_tasks_are_given_can_be_sent(replicas: Replicas, executor: ThreadPoolExecutor) -> None:
    sent: list[Any] = []

    def sending(tasks: Sequence[GroupTask], first: Any, second: Any) -> Mapping[int, bytes]:
        sent.extend((first, second))
        return here(tasks, copied(first), copied(second))

    readers = {number: reader_of(replica, f"broker-{number}") for number, replica in replicas.items()}
    network = NetworkLook(readers, executor, {T0.topic: False})
    reach_ = Reach("nowhere:1", PackedSettings.of(ClientSettings()))
    seen = DistributedLook(network, reach_, sending, 9).at({5: LED})[5]
    assert seen.judged is not None
    assert seen.judged["verdicts"] == ["identical"]
    assert len(sent) == 2
