"""Salvaged records on a real broker: there once, as they were, whatever happened before."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import Header
from replication.copies.planning.failures import stop
from replication.copies.salvage.cluster.partition_writing import header_values
from replication.copies.salvage.held.provenance import HEADER
from replication.salvage import TransactionSize, plan_salvage, produce
from tests.campaign import Campaign
from tests.oracle.broker import Broker
from tests.oracle.release import KafkaRelease
from tests.replication.copies.salvage.cluster.target import Target
from tests.replication.copies.salvage.copies import COMMIT, data, marker, write_copy
from tests.replication.copies.salvage.expected import Copies, Expected, order
from tests.replication.copies.salvage.history import TOPIC, History
from tests.replication.copies.salvage.test_random_histories import check_acknowledged, check_order

COMMON = data(0, b"common")
HISTORIES = Campaign("salvage: random histories into a real topic", full=200, share=6)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Target]:
    with Broker(tmp_path_factory.mktemp("target"), release) as broker:
        yield Target(broker.address)


def test_records_are_as_they_were_with_where_they_are_from(tmp_path: Path, target: Target) -> None:
    headers = (Header("trace", b"\x00\xff"), Header("none", None), Header("trace", b""))
    losing = [
        COMMON,
        data(4, b"a", key=b"k", timestamp=1_234, headers=headers, producer=7, sequence=0),
        data(4, None, key=b"deleted", timestamp=5),
        data(4, b"", key=b"", timestamp=6),
        data(4, b"plain", timestamp=7),
    ]
    copies = [write_copy(tmp_path / "broker-0", [COMMON]), write_copy(tmp_path / "broker-1", losing)]
    topic = target.create("as-they-were")
    done = produce(plan_salvage(copies, "broker-0"), target.client, to_topic=topic)
    assert [(each.written, each.already_there, each.to_topic) for each in done.partitions] == [(4, 0, topic)]
    read = target.read(topic)
    assert [(each.key(), each.value(), each.timestamp()) for each in read] == [
        (b"k", b"a", (1, 1_234)),
        (b"deleted", None, (1, 5)),
        (b"", b"", (1, 6)),
        (None, b"plain", (1, 7)),
    ]
    said = [each.headers() or [] for each in read]
    assert said[0][:3] == list(headers)
    assert [each[-1][0] for each in said] == ["epochlog.salvaged"] * 4
    assert [bytes(each[-1][1])[:-17] for each in said] == [
        b"/t-0/4/1/7",
        b"/t-0/4/2/-1",
        b"/t-0/4/3/-1",
        b"/t-0/4/4/-1",
    ]
    again = produce(plan_salvage(copies, "broker-0"), target.client, to_topic=topic)
    assert [(each.written, each.already_there) for each in again.partitions] == [(0, 4)]
    assert len(target.read(topic)) == 4


def test_a_source_transaction_is_in_one_of_ours_and_a_second_run_adds_nothing(tmp_path: Path, target: Target) -> None:
    begun = [data(4, b"%d" % n, producer=7, sequence=n, transactional=True) for n in range(20)]
    losing = [COMMON, *(part for each in begun for part in (each, data(4, b"plain"))), marker(4, COMMIT, 7)]
    copies = [write_copy(tmp_path / "broker-0", [COMMON]), write_copy(tmp_path / "broker-1", losing)]
    topic = target.create("transactions")
    plan = plan_salvage(copies, "broker-0")
    dry = produce(plan, target.client, to_topic=topic, dry_run=True)
    assert target.read(topic) == []
    done = produce(plan, target.client, to_topic=topic, size=TransactionSize(records=5))
    assert (done.written, done.reports, done.partitions) == (40, dry.reports, dry.partitions)
    offsets = [each.offset() for each in target.read(topic)]
    assert offsets == [*range(39), 40], "a marker is behind the last record of the transaction, and not before it"
    assert produce(plan, target.client, to_topic=topic, dry_run=True).already_there == 40
    again = produce(plan, target.client, to_topic=topic, size=TransactionSize(records=5))
    assert (again.written, again.already_there) == (0, 40)


def test_what_was_salvaged_and_lost_once_more_is_there_once(tmp_path: Path, target: Target) -> None:
    first = data(4, b"a", timestamp=9)
    copies = [write_copy(tmp_path / "broker-0", [COMMON]), write_copy(tmp_path / "broker-1", [COMMON, first])]
    topic = target.create("lost-again")
    [salvage] = plan_salvage(copies, "broker-0").salvages()
    [value] = header_values(next(salvage.blocks(stop)), None)
    salvaged_once = data(7, b"a", timestamp=9, headers=(Header(HEADER, value),))
    copies.append(write_copy(tmp_path / "broker-2", [COMMON, salvaged_once, data(7, b"b")]))
    done = produce(plan_salvage(copies, "broker-0"), target.client, to_topic=topic)
    assert (done.written, done.already_there) == (2, 1)
    assert target.values(topic) == [b"a", b"b"]
    assert produce(plan_salvage(copies, "broker-0"), target.client, to_topic=topic).written == 0


def test_in_any_history_what_survives_is_in_the_topic_once(
    tmp_path: Path, target: Target, release: KafkaRelease
) -> None:
    rng = random.Random(HISTORIES.seed)
    written = 0
    for number in range(HISTORIES.count):
        history = History(rng, tmp_path / str(number), rng.choice([2, 3, 3]), keyed=rng.choice([0, 0.05, 0.3]))
        history.run(steps=rng.randint(5, 120))
        topic = target.create(f"history-{number}")
        written += check(history, rng.choice(history.roots).name, target, topic, rng)
    assert written
    HISTORIES.report(HISTORIES.count, f"{written:,} records written", beside=release)


def check(history: History, kept: str, target: Target, topic: str, rng: random.Random) -> int:
    """Give the topic what consumers get of the kept copy, and then what is salvaged."""
    copies = Copies({root.name: entries for root, entries in zip(history.roots, history.entries, strict=True)}, kept)
    visible = [sent for entry in sorted(copies.seen[kept], key=order) for sent in entry.sent]
    target.write(topic, [each.value for each in visible])
    size = TransactionSize(records=rng.choice([1, 3, 1_000]))
    plan = plan_salvage(history.roots, kept, topics=[TOPIC])
    dry = produce(plan, target.client, to_topic=topic, dry_run=True)
    done = produce(plan, target.client, to_topic=topic, size=size)
    assert done == dry, "the dry run is what happens"
    expected = copies.expected()
    there = target.values(topic)
    assert Counter(there) == Counter([*(each.value for each in visible), *expected.salvaged])
    assert not history.aborted & {*map(bytes, filter(None, there[len(visible) :]))}
    check_acknowledged(history, copies, {*map(bytes, filter(None, there)), *left(expected)})
    check_order(history, [value or b"" for value in there[len(visible) :]])
    assert produce(plan, target.client, to_topic=topic, size=size).written == 0
    return done.written


def left(expected: Expected) -> set[bytes]:
    return {*expected.left_for_a_decision, *expected.in_conflict}
