"""Keys are told apart by their bytes, whatever their digests."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logstore import Codec
from logstore.kernels.digest import FIRST_SEED, digest_key
from tests.replication.copies.salvage.copies import Part, data, salvage, values

COMMON = data(0, b"common")
KEYS = [b"", b"a", b"b", b"aa", b"a" * 100]


@pytest.fixture
def _equal_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all keys have the same digest, until another seed is tried."""

    def digest(records: Any, seed: np.uint64) -> Any:
        return digest_key(records, seed) * np.uint64(seed != FIRST_SEED)

    monkeypatch.setattr("replication.copies.salvage.columns.key_writes.digest_key", digest)


def written(epoch: int, keys: list[bytes], codec: Codec) -> list[Part]:
    return [COMMON, *[data(epoch, b"%d" % epoch, key=key, codec=codec) for key in keys]]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("common", KEYS)
@pytest.mark.usefixtures("_equal_digests")
def test_only_the_key_that_both_sides_wrote_is_in_conflict(common: bytes, codec: Codec, tmp_path: Path) -> None:
    records, report = salvage(tmp_path, written(2, [common], codec), written(1, KEYS, codec))
    assert {record.key for record in records} == set(KEYS) - {common}
    assert [each.key for each in report.conflicts] == [common]


@pytest.mark.usefixtures("_equal_digests")
def test_keys_of_both_sides_that_differ_are_no_conflict(tmp_path: Path) -> None:
    records, report = salvage(tmp_path, written(2, [b"x", b"y"], Codec.NONE), written(1, KEYS, Codec.NONE))
    assert (len(records), report.conflicts) == (len(KEYS), [])


@pytest.mark.usefixtures("_equal_digests")
def test_of_different_keys_of_a_compacted_topic_none_supersedes_another(tmp_path: Path) -> None:
    records, report = salvage(tmp_path, [COMMON], written(1, [*KEYS, b"a"], Codec.NONE), cleaned=1)
    assert [record.key for record in records] == [b"", b"b", b"aa", b"a" * 100, b"a"]
    assert sum(report.counts.values()) == 1


def test_a_value_is_remembered_by_its_last_record_in_a_batch_and_over_batches(tmp_path: Path) -> None:
    losing = [COMMON, data(1, b"1", b"2", key=b"k"), data(1, b"3", b"x" * 65, key=b"k"), data(1, b"", key=b"l")]
    kept = [COMMON, data(2, b"theirs", None, key=b"k"), data(2, b"z", key=b"l")]
    records, report = salvage(tmp_path, kept, losing)
    assert values(records) == []
    of_k, of_l = report.conflicts
    assert (of_k.losing.value, of_k.losing.value_size, of_k.losing.offset, of_k.records) == (b"x" * 64, 65, 4, 4)
    assert (of_k.other.value, of_k.other.offset) == (None, 2)
    assert (of_l.losing.value, of_l.losing.value_size, of_l.other.value) == (b"", 0, b"z")


def test_the_other_side_of_a_conflict_is_that_of_the_last_record(tmp_path: Path) -> None:
    shared = [COMMON, data(1, b"x")]
    longer = [*shared, data(1, b"first", key=b"k"), data(1, b"y")]
    ours, late = [*longer, data(1, b"last", key=b"k")], [*longer, data(2, b"late", key=b"k")]
    early = [*shared, data(3, b"early", key=b"k")]
    _, report = salvage(tmp_path, [COMMON, data(9, b"kept")], ours, late, early)
    of_ours = report.conflicts[0]
    assert (of_ours.losing.value, of_ours.other.value, of_ours.records) == (b"last", b"late", 2)
