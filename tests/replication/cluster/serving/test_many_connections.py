"""Two hundred connections and a thousand partitions: no error, and nothing that grows."""

import random
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from logstore import TopicPartition
from replication.cluster.serving.frozen_broker import made_id
from replication.wire.addresses import Address
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.error_code import ErrorCode
from replication.wire.messages.api_versions import ApiVersionsRequest
from replication.wire.messages.fetch import INITIAL_SESSION_EPOCH, FetchPartition, FetchRequest, FetchResponse
from replication.wire.messages.list_offsets import EARLIEST, LATEST, ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from tests.campaign import Campaign
from tests.replication.cluster.serving.many_clients import ManyClients, Questions
from tests.replication.cluster.serving.many_partitions import (
    END,
    EPOCHS,
    LARGE,
    LARGE_BYTES,
    RECORDS,
    TOPIC,
    many_partitions,
)
from tests.replication.cluster.serving.served_process import ServedProcess

PARTITIONS = 1_000
OF_EACH_KIND = 60
"""Connections that ask: of three kinds."""
DEAF = 10
HALF = 10
"""Connections that do not ask as they should."""
ROUNDS = 10
IDLE = 100
IDLE_BYTES = 100_000
AT_ONCE = 20
MUCH = 1 << 20
WAIT_MS = 200
PATIENCE_SECONDS = 10
"""What it may take, on a machine that others use too, until all that have gone are noticed."""
HANG_SECONDS = 60
GROWTH_BYTES = 16 << 20
IDS = {TOPIC: made_id(TOPIC), LARGE.topic: made_id(LARGE.topic)}


@pytest.fixture(scope="module")
def directory() -> Path:
    return many_partitions(PARTITIONS)


@pytest.fixture
def server(directory: Path) -> Iterator[ServedProcess]:
    with ServedProcess(directory) as process:
        yield process


# --- who asks


def some(dice: random.Random) -> list[TopicPartition]:
    return [TopicPartition(TOPIC, number) for number in dice.sample(range(PARTITIONS), AT_ONCE)]


def stored(directory: Path, partition: TopicPartition, offset: int) -> bytes:
    """All batches of a small partition from the one with an offset on."""
    data = (directory / str(partition) / "00000000000000000000.log").read_bytes()
    first = 12 + int.from_bytes(data[8:12], "big")
    return data if offset < RECORDS else data[first:]


def in_a_session(directory: Path, dice: random.Random) -> Questions:
    """Read some partitions, wait for news of which there are none, go back in one of them; and so on."""
    partitions = some(dice)
    asked = dict.fromkeys(partitions, FetchPartition(0, MUCH))
    answer = yield FetchRequest(partitions=asked, topic_ids=IDS, session_epoch=INITIAL_SESSION_EPOCH)
    assert set(answer.partitions) == set(partitions)
    session_id, epoch = answer.session_id, 0
    assert session_id
    while True:
        check_records(directory, answer, {each: at.fetch_offset for each, at in asked.items()})
        asked = {each: FetchPartition(END, MUCH) for each in asked}
        begun = time.monotonic()
        answer = yield later(asked, session_id, epoch := epoch + 1)
        assert answer.error is ErrorCode.NONE
        assert not answer.partitions
        assert time.monotonic() - begun >= WAIT_MS / 1_000
        asked = {dice.choice(partitions): FetchPartition(dice.randrange(END), MUCH)}
        answer = yield later(asked, session_id, epoch := epoch + 1)
        assert set(answer.partitions) == set(asked)


def later(asked: dict[TopicPartition, FetchPartition], session_id: int, epoch: int) -> FetchRequest:
    return FetchRequest(
        partitions=asked, topic_ids=IDS, session_id=session_id, session_epoch=epoch, max_wait_ms=WAIT_MS
    )


def check_records(directory: Path, answer: FetchResponse, offsets: dict[TopicPartition, int]) -> None:
    assert answer.error is ErrorCode.NONE
    for partition, fetched in answer.partitions.items():
        assert (fetched.error, fetched.high_watermark) == (ErrorCode.NONE, END)
        assert fetched.records == stored(directory, partition, offsets[partition])


def for_offsets(_: Path, dice: random.Random) -> Questions:
    """Ask where partitions begin and end, and where a time does."""
    wanted = {EARLIEST: 0, LATEST: END, 0: 0, 1: RECORDS}
    while True:
        asked = {each: OffsetQuestion(dice.choice(list(wanted))) for each in some(dice)}
        answer = yield ListOffsetsRequest(partitions=asked)
        found = {each: (told.error, told.offset) for each, told in answer.partitions.items()}
        assert found == {each: (ErrorCode.NONE, wanted[question.timestamp]) for each, question in asked.items()}


def for_epochs(_: Path, dice: random.Random) -> Questions:
    """Ask where epochs end."""
    while True:
        asked = {each: EpochQuestion(-1, dice.randrange(EPOCHS)) for each in some(dice)}
        answer = yield OffsetForLeaderEpochRequest(partitions=asked)
        for each, told in answer.partitions.items():
            epoch = asked[each].leader_epoch
            assert (told.error, *told.end) == (ErrorCode.NONE, epoch, (epoch + 1) * RECORDS)


# --- who misbehaves


class Nuisances:
    """Connections that stop reading in the middle of an answer, and those that send half a frame."""

    def __init__(self, address: Address) -> None:
        self._sockets = [deaf(address) for _ in range(DEAF)] + [half(address) for _ in range(HALF)]

    def close(self) -> None:
        for each in self._sockets:
            each.close()


def deaf(address: Address) -> socket.socket:
    """Ask for megabytes, and take only the first bytes."""
    connected = socket.socket()
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    connected.settimeout(60)
    connected.connect(address)
    request = FetchRequest(partitions={LARGE: FetchPartition(0, LARGE_BYTES)}, topic_ids=IDS)
    connected.sendall(Exchange("deaf").ask(request)[1])
    assert int.from_bytes(connected.recv(SIZE_BYTES, socket.MSG_WAITALL), "big") > LARGE_BYTES // 2
    return connected


def half(address: Address) -> socket.socket:
    """Say that a request comes, and send half of it."""
    connected = socket.create_connection(address, 60)
    frame = Exchange("half").ask(OffsetForLeaderEpochRequest(partitions={LARGE: EpochQuestion(-1, 0)}))[1]
    connected.sendall(frame[: len(frame) // 2])
    return connected


# --- the tests


def test_two_hundred_connections_cost_no_more_in_the_end_than_at_the_beginning(
    directory: Path, server: ServedProcess
) -> None:
    campaign = Campaign("seconds of 200 connections to a server", full=300, share=30)
    dice = random.Random(campaign.seed)
    kinds = (in_a_session, for_offsets, for_epochs)
    before = server.descriptor_count, server.thread_count
    all_questions = [kind(directory, random.Random(dice.random())) for kind in kinds for _ in range(OF_EACH_KIND)]
    resident: list[int] = []
    descriptors: list[int] = []
    with closing(ManyClients(server.address, all_questions)) as many:
        for _ in range(ROUNDS):
            with closing(Nuisances(server.address)):
                many.run(campaign.count / ROUNDS)
                resident.append(server.resident_bytes)
                descriptors.append(server.descriptor_count)
        with closing(Nuisances(server.address)):
            assert all_are_answered_once_more(many)
        answers = sum(client.answer_count for client in many.clients)
        longest = max(client.longest_seconds for client in many.clients)
    after = settled(server, before)
    warm = ROUNDS // 2
    growth = statistics.median(resident[-2:]) - max(resident[:warm])
    campaign.report(
        campaign.count,
        f"{answers:,} answers, {longest:.1f} s the longest; {resident[0] >> 20} to {resident[-1] >> 20} MiB",
    )
    assert growth < GROWTH_BYTES, resident
    assert max(descriptors[warm:]) <= max(descriptors[:warm]) + DEAF + HALF, descriptors
    assert after == before


def all_are_answered_once_more(many: ManyClients) -> bool:
    """Whether none of them hangs, however slow the machine is."""
    before = [client.answer_count for client in many.clients]
    until = time.monotonic() + HANG_SECONDS
    while any(client.answer_count == count for client, count in zip(many.clients, before, strict=True)):
        if time.monotonic() > until:
            return False
        many.run(0.5)
    return True


def settled(server: ServedProcess, wanted: tuple[int, int]) -> tuple[int, int]:
    """Return how many descriptors and threads there are once it has noticed that all have gone."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (found := (server.descriptor_count, server.thread_count)) != wanted and time.monotonic() < until:
        time.sleep(0.1)
    return found


def test_an_idle_connection_costs_a_hundred_kilobytes_at_most(server: ServedProcess) -> None:
    costs: list[int] = []
    connections: list[socket.socket] = []
    for _ in range(IDLE):
        before = server.resident_bytes
        connections.append(greeted(server.address))
        costs.append(server.resident_bytes - before)
    for each in connections:
        each.close()
    assert statistics.median(costs) <= IDLE_BYTES, costs
    assert statistics.mean(costs) <= IDLE_BYTES, costs


def greeted(address: Address) -> socket.socket:
    """Return a connection that has asked what each asks first."""
    connected = socket.create_connection(address, 60)
    exchange = Exchange("idle")
    connected.sendall(exchange.ask(ApiVersionsRequest(client_software_name="idle", client_software_version="1"))[1])
    size = int.from_bytes(connected.recv(SIZE_BYTES, socket.MSG_WAITALL), "big")
    answer = exchange.answer(memoryview(connected.recv(size, socket.MSG_WAITALL)))[1]
    assert answer.error is ErrorCode.NONE
    return connected
