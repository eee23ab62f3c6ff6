"""Real clients write to a broker of ours in every manner that they have, and what they wrote is there for all."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from logstore import TopicPartition, open_offline
from logstore.verify.verify import verify
from replication.cluster.standalone.standalone_broker import StandaloneBroker
from tests.campaign import Campaign
from tests.oracle.log_dump import Printed, dump_files
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.serving.clients import READERS, SECONDS, Seen
from tests.replication.cluster.standalone.alone import alone
from tests.replication.cluster.standalone.consumers import MEMBERS, SEEKERS
from tests.replication.cluster.standalone.writers import MANNERS, WRITERS, Manner, Record, records

WAYS = [(client, manner) for client in WRITERS for manner in MANNERS]
CAMPAIGN = Campaign("clients: every manner of writing", full=60, share=18)
COUNT = 60
"""Records of each client in each manner."""


class Written(NamedTuple):
    """What clients have written before their broker stopped."""

    root: Path
    sent: dict[TopicPartition, list[Record]]
    ways: dict[TopicPartition, Manner]

    def seen(self, partition: TopicPartition) -> list[Seen]:
        """Return a partition as whoever reads it has to see it."""
        return [each.seen(offset) for offset, each in enumerate(self.sent[partition])]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Let clients write, each in each manner to a topic of its own."""
    rng = random.Random(CAMPAIGN.seed)
    begin_ms = int(time.time() * 1_000) - 60_000
    written = Written(tmp_path_factory.mktemp("written") / "logs", {}, {})
    with alone(written.root) as broker:
        for client, manner in rng.sample(WAYS, CAMPAIGN.count):
            partition = TopicPartition(f"{client}-{manner}", 0)
            sent = written.sent[partition] = records(rng, COUNT, begin_ms)
            written.ways[partition] = manner
            WRITERS[client](str(broker.local.address), partition, sent, manner)
            _wait_for_end(broker, partition, COUNT)
    return written


@pytest.fixture(scope="module")
def again(written: Written) -> Iterator[StandaloneBroker]:
    """Start another broker on what was written."""
    with alone(written.root) as broker:
        yield broker


def test_kafkas_dump_log_finds_the_same_records_and_has_nothing_to_complain_of(
    written: Written, release: KafkaRelease
) -> None:
    kinds = ("log", "index", "timeindex")
    dumped = dump_files(release, sorted(file for kind in kinds for file in written.root.glob(f"*-*/*.{kind}")))
    assert [(file, each.complaints) for file, each in dumped.items() if each.complaints] == []
    for partition, manner in written.ways.items():
        found = dumped[written.root / str(partition) / "00000000000000000000.log"]
        assert [_dumped(each) for each in found.records] == [
            (offset, each.timestamp, each.key, each.value, [name for name, _ in each.headers])
            for offset, each in enumerate(written.sent[partition])
        ], partition
        assert {each["isvalid"] for each in found.batches} == {"true"}
        # A batch that does not get smaller is sent as it was.
        assert manner.codec in {each["compresscodec"] for each in found.batches} <= {manner.codec, "none"}
        assert {each["producerId"] != "-1" for each in found.batches} == {manner.is_idempotent}


def test_verify_finds_nothing_in_what_clients_have_written(written: Written) -> None:
    found = list(verify(open_offline(written.root), records=True))
    assert [each for each in found if each.severity.needs_attention] == []
    CAMPAIGN.report(len(written.sent))


@pytest.mark.parametrize("client", READERS)
def test_each_client_reads_after_a_restart_what_each_has_written_in_each_manner(
    written: Written, again: StandaloneBroker, client: str
) -> None:
    assert len(WAYS) == CAMPAIGN.full
    assert len(written.sent) == CAMPAIGN.count
    seen = READERS[client](str(again.local.address), list(written.sent), False)
    for partition in written.sent:
        assert seen[partition] == written.seen(partition), partition


@pytest.mark.parametrize("client", SEEKERS)
def test_each_client_seeks_by_offset_and_by_time(written: Written, again: StandaloneBroker, client: str) -> None:
    partition = next(iter(written.sent))
    seen = written.seen(partition)
    wanted = COUNT // 2
    by_offset, by_time = SEEKERS[client](str(again.local.address), partition, wanted, seen[wanted].timestamp)
    assert by_offset == by_time == seen[wanted]


@pytest.mark.parametrize("client", MEMBERS)
def test_the_next_member_of_a_group_goes_on_where_the_one_before_it_has_committed(
    written: Written, again: StandaloneBroker, client: str
) -> None:
    partition = next(iter(written.sent))
    first = MEMBERS[client](str(again.local.address), partition.topic, COUNT // 3)
    second = MEMBERS[client](str(again.local.address), partition.topic, COUNT - COUNT // 3)
    assert first + second == written.seen(partition)


def _dumped(printed: Printed) -> tuple[int, int, bytes | None, bytes | None, list[str]]:
    key, value = (bytes.fromhex(printed[name]) if name in printed else None for name in ("key", "payload"))
    headers = printed["headerKeys"].strip("[]")
    return int(printed["offset"]), int(printed["CreateTime"]), key, value, headers.split(",") if headers else []


def _wait_for_end(broker: StandaloneBroker, partition: TopicPartition, end: int) -> None:
    """Wait for records that nobody acknowledges."""
    log = broker.local.replicas.hosted[partition].log
    deadline = time.monotonic() + SECONDS
    while log.log_end_offset < end:
        assert time.monotonic() < deadline, f"{partition} ends at {log.log_end_offset}, not at {end}"
        time.sleep(0.01)
