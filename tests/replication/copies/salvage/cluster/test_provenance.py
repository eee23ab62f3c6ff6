"""A header says where a record was salvaged from, and is read again as it was written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.record import Header
from logstore.topic_partition import TopicPartition
from replication.copies.planning.failures import stop
from replication.copies.salvage.cluster.known_places import KnownPlaces
from replication.copies.salvage.cluster.partition_writing import header_values, provenances
from replication.copies.salvage.held.provenance import HEADER, Provenance, earlier_places
from replication.salvage import SalvagedBlock, plan_salvage
from tests.replication.copies.salvage.copies import Part, data, write_copy

COMMON = data(0, b"common")
LETTERS = st.text("abcXYZ012._-", min_size=1, max_size=20)
PROVENANCES = st.builds(
    Provenance,
    st.text("abcXYZ012_-", max_size=22),
    st.builds(TopicPartition, LETTERS, st.integers(0, 2**31 - 1)),
    st.integers(-1, 2**31 - 1),
    st.integers(0, 2**63 - 1),
    st.integers(-1, 2**63 - 1),
    st.integers(0, 2**64 - 1),
)
PINNED = [b"c/t-0/4/1/7/6d9011c20a575154", b"c/t-0/4/2/7/13ebc9f765ae5dae"]
T0 = TopicPartition("t", 0)


@given(PROVENANCES)
def test_what_was_written_is_read(provenance: Provenance) -> None:
    assert Provenance.parse(provenance.value) == provenance


@given(st.none() | st.binary() | st.text("abc/-0123", max_size=30).map(str.encode))
def test_what_somebody_else_has_written_is_no_failure(value: bytes | None) -> None:
    found = Provenance.parse(value)
    assert found is None or found.partition.topic


@pytest.mark.parametrize(
    "value",
    [None, b"", b"a/b/c/d/e/f", b"c/t-0/1/2/3", b"c/t/1/2/3/4", b"c/-0/1/2/3/4", b"c/t-0/1/2/3/x", b"\xff/t-0/1/x/2/3"],
)
def test_what_is_none_of_ours(value: bytes | None) -> None:
    assert Provenance.parse(value) is None


def place(
    offset: int, digest: int = 1, cluster: str = "c", partition: TopicPartition = T0, epoch: int = 4
) -> Provenance:
    return Provenance(cluster, partition, epoch, offset, -1, digest)


def test_a_place_is_known_for_its_partition_cluster_and_content_alone() -> None:
    known = KnownPlaces(T0, "c")
    known.add([place(7), place(8, cluster=""), place(9, cluster="other"), place(10, partition=TopicPartition("t", 1))])
    assert [offset for offset in range(6, 12) if known.knows([place(offset)])] == [7, 8]
    assert not known.knows([place(7, epoch=5)])
    assert not known.knows([place(7, digest=2)])
    assert not known.knows([])


def block_of(directory: Path, *parts: Part) -> SalvagedBlock:
    copies = [write_copy(directory / f"broker-{n}", each) for n, each in enumerate(([COMMON], [COMMON, *parts]))]
    [salvage] = plan_salvage(copies, "broker-0").salvages()
    [block] = salvage.blocks(stop)
    return block


def test_records_of_one_place_are_told_apart_by_all_that_is_written(tmp_path: Path) -> None:
    others = [
        data(1, b"v", key=b"k", timestamp=1),
        data(1, b"v", key=b"k", timestamp=2),
        data(1, b"v", timestamp=1),
        data(1, b"v", key=b"", timestamp=1),
        data(1, None, key=b"k", timestamp=1),
        data(1, b"", key=b"k", timestamp=1),
        data(1, b"", key=b"kv", timestamp=1),
        data(1, b"v", key=b"k", timestamp=1, headers=(Header("a", b"b"),)),
        data(1, b"v", key=b"k", timestamp=1, headers=(Header("a", None),)),
    ]
    found = [next(provenances(block_of(tmp_path / str(number), each), "c")) for number, each in enumerate(others)]
    assert len({each.digest for each in found}) == len(others)
    assert {each[:5] for each in found} == {("c", T0, 1, 1, -1)}


def test_what_an_earlier_version_has_written_is_known(tmp_path: Path) -> None:
    """Should the digest change, records would be written again that are there."""
    headers = (Header("a", b"b"), Header("none", None))
    block = block_of(tmp_path, data(4, b"v", None, key=b"k", timestamp=5, headers=headers, producer=7, sequence=0))
    assert list(header_values(block, "c")) == PINNED
    assert [each.value for each in provenances(block, "c")] == PINNED


def test_what_was_salvaged_and_lost_again_is_known_by_its_first_place() -> None:
    first, other = place(7), place(1, partition=TopicPartition("u", 0))
    values = (b"c/t-0/1/2/3/4/5", first.value, other.value, b"nonsense", None)
    headers = (Header("a", b"c/t-0/1/2/3/4"), *(Header(HEADER, value) for value in values))
    assert list(earlier_places(headers, T0)) == [first]
