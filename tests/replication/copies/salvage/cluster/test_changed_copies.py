"""Copies that change between the look at them and the writing: what is written was reported, or an error says so."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from logstore.topic_partition import TopicPartition
from replication.copies.planning.failures import OnError, stop
from replication.copies.salvage.cluster import production
from replication.copies.salvage.cluster.partition_writing import Message
from replication.copies.salvage.cluster.target_topic import TargetTopic
from replication.copies.salvage.held.provenance import HEADER, Provenance
from replication.salvage import ClusterError, Production, TransactionSize, plan_salvage, produce
from tests.replication.copies.salvage.copies import COMMIT, Part, data, marker, write_copy

COMMON = data(0, b"common")
FIRST = [COMMON, *(data(1, b"%d" % number, producer=7, sequence=number) for number in range(3))]
SECOND = [COMMON, data(2, b"x", producer=8), data(2, b"y", producer=8, sequence=1)]
SETTINGS = {
    "max.message.bytes": "1000000",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.after.max.ms": str(2**63 - 1),
    "retention.ms": "-1",
    "cleanup.policy": "delete",
    "segment.bytes": "1073741824",
}


class FakeCluster:
    """Has one topic in memory, and calls `meanwhile` when the copies were looked at and nothing was written yet."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], object] = lambda: None
        self.there: list[Message] = []
        self.open: list[Message] = []

    def cluster_id(self) -> str:
        return "c"

    def topics(self, names: Sequence[str]) -> dict[str, TargetTopic]:
        return {name: TargetTopic(name, 1, SETTINGS) for name in names}

    def provenances(self, *_: object) -> Iterator[Provenance]:
        self.meanwhile()
        said = (dict(headers)[HEADER] for *_, headers in self.there)
        return (place for each in said if isinstance(each, bytes) and (place := Provenance.parse(each)))

    def fence(self) -> None:
        assert self.open == []

    def write(self, messages: Iterable[Message], *_: object) -> None:
        self.open += messages

    def commit(self) -> None:
        self.there += self.open
        self.open = []

    def close(self) -> None:
        self.open = []

    @property
    def values(self) -> list[bytes | None]:
        return [value for value, *_ in self.there]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster()
    for name in ("TargetCluster", "WrittenRecords", "SalvageProducer"):
        monkeypatch.setattr(production, name, lambda *_: fake)
    return fake


class Copies:
    """The copies of three brokers, of which the first is kept."""

    def __init__(self, directory: Path) -> None:
        self.roots = [directory / f"broker-{number}" for number in range(3)]
        for number, parts in enumerate(([COMMON], FIRST, SECOND)):
            self.write(number, parts)

    def write(self, number: int, parts: Sequence[Part]) -> None:
        rmtree(self.roots[number], ignore_errors=True)
        write_copy(self.roots[number], parts)

    def produce(self, on_error: OnError = stop, **options: Any) -> Production:
        plan = plan_salvage(self.roots, "broker-0", topics=["t"])
        return produce(plan, {"bootstrap.servers": "nowhere"}, on_error=on_error, **options)


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(tmp_path)


ALL = [b"0", b"1", b"2", b"x", b"y"]


def test_what_does_not_concern_the_records_is_no_change(cluster: FakeCluster, copies: Copies) -> None:
    cluster.meanwhile = lambda: copies.write(0, [COMMON, data(3, b"new", key=b"k")])
    assert copies.produce().written == 5
    assert cluster.values == ALL


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("dry_run", [False, True])
def test_each_partition_counts_once_it_is_read_and_again_once_it_is_written(copies: Copies, dry_run: bool) -> None:
    done: list[object] = []
    copies.produce(dry_run=dry_run, progress=done.append)
    assert done == [TopicPartition("t", 0)] * 2


@pytest.mark.parametrize(
    ("number", "parts", "first", "then"),
    [
        pytest.param(0, [COMMON, data(3, b"0", producer=7)], [], ALL[1:], id="the first was sent again"),
        pytest.param(0, [COMMON, *SECOND[1:]], ALL[:3], ALL[:3], id="all of the second copy was sent again"),
        pytest.param(1, [*FIRST, data(1, b"3", producer=7, sequence=3)], [], None, id="there is one more"),
        pytest.param(1, [COMMON, *(data(1, b"%d" % n) for n in (5, 6))], [], None, id="there is one less"),
        pytest.param(2, [COMMON, *(data(5, b"%d" % n) for n in (5, 6))], ALL[:3], None, id="there are as many others"),
        pytest.param(2, [*SECOND, data(3, b"z")], ALL[:3], [*ALL, b"z"], id="the last copy has one more"),
    ],
)
def test_what_was_not_reported_is_not_written_and_the_next_run_does_the_rest(
    number: int,
    parts: list[Part],
    first: list[bytes],
    then: list[bytes] | None,
    cluster: FakeCluster,
    copies: Copies,
) -> None:
    cluster.meanwhile = lambda: copies.write(number, parts)
    with pytest.raises(ClusterError, match="t-0: the copies have changed since they were looked at") as told:
        copies.produce(size=TransactionSize(records=1))
    assert "run the same again" in str(told.value)
    assert cluster.values == first
    again = copies.produce(size=TransactionSize(records=1))
    assert again.written + again.already_there == sum(each.salvaged for each in again.reports)
    assert then is None or cluster.values == then


def test_without_its_end_the_last_transaction_is_not_committed(cluster: FakeCluster, copies: Copies) -> None:
    cluster.meanwhile = lambda: copies.write(0, [COMMON, *SECOND[1:]])
    with pytest.raises(ClusterError, match="the copies have changed"):
        copies.produce()
    assert cluster.values == []


def test_a_dry_run_says_so_too(cluster: FakeCluster, copies: Copies) -> None:
    cluster.meanwhile = lambda: copies.write(1, FIRST[:2])
    with pytest.raises(ClusterError, match="the copies have changed"):
        copies.produce(dry_run=True)


def test_a_transaction_that_was_sent_again_meanwhile_divides_no_other(cluster: FakeCluster, copies: Copies) -> None:
    begun = [data(1, b"%d" % number, producer=9, sequence=number, transactional=True) for number in range(3)]
    copies.write(1, [*FIRST, *begun, marker(1, COMMIT, 9)])
    cluster.meanwhile = lambda: copies.write(0, [COMMON, data(3, b"0", producer=7)])
    with pytest.raises(ClusterError, match="the copies have changed"):
        copies.produce(size=TransactionSize(records=1))
    assert cluster.values == []


def test_a_copy_that_can_no_longer_be_read_is_told(cluster: FakeCluster, copies: Copies) -> None:
    errors: list[Exception] = []
    cluster.meanwhile = lambda: rmtree(copies.roots[2] / "t-0")
    with pytest.raises(ClusterError, match=r"t-0: the copies could be read before, .*run the same again"):
        copies.produce(lambda _, error: errors.append(error))
    assert (errors, cluster.values) == ([], [])


def test_what_could_not_be_read_at_first_either_is_told_once(cluster: FakeCluster, copies: Copies) -> None:
    errors: list[Exception] = []
    (copies.roots[2] / "t-0" / "leader-epoch-checkpoint").write_bytes(b"nonsense")
    assert copies.produce(lambda _, error: errors.append(error)).written == 3
    assert (len(errors), cluster.values) == (1, ALL[:3])
