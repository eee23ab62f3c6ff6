"""No damage of a remote copy rests on one bad transfer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from replication.audit import audit_locally
from replication.copies.audit.examination.transfers import TRANSFER_DAMAGED
from tests.replication.copies.audit.counted_store import CountedStore
from tests.replication.copies.audit.snapshot_roots import batches, write_root

Alter = Callable[[bytes, int], bytes]


def flipped(data: bytes, number: int) -> bytes:
    """Flip a bit, another one in each transfer."""
    at = len(data) - 5 - number
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def flipped_alike(data: bytes, _number: int) -> bytes:
    return flipped(data, 0)


def cut(data: bytes, _number: int) -> bytes:
    return data[: len(data) // 2]


def padded(data: bytes, _number: int) -> bytes:
    return data[: len(data) // 2].ljust(len(data), b"\0")


class FaultyStore(CountedStore):
    """Alters a file in some of its transfers, which are counted from 0 on."""

    def __init__(self, file: Path, alter: Alter, transfers: range) -> None:
        super().__init__()
        self._file, self._alter, self._transfers = str(file), alter, transfers

    def open_input_file(self, path: str) -> Any:
        number = self.read[path]
        stream = super().open_input_file(path)
        if path == self._file and number in self._transfers:
            return pa.BufferReader(self._alter(stream.read(), number))
        return stream


def audited(place: Path, alter: Alter, transfers: range) -> tuple[list[str], set[tuple[str, str]]]:
    roots = [write_root(place / f"broker-{node}", {"t-0": batches(12)}, node=node) for node in range(2)]
    file = max((roots[0] / "t-0").glob("*.log"))
    store = FaultyStore(file, alter, transfers)
    with store.in_place():
        document = audit_locally([store.address(root) for root in roots], workers=0).document
    (partition,) = document["partitions"]
    told = {(each["kind"], each["severity"]) for each in document["findings"] if each["kind"] != "index-missing"}
    return partition["verdicts"], told


@pytest.mark.parametrize("alter", [flipped, cut, padded])
def test_a_sound_transfer_wins(alter: Alter, tmp_path: Path) -> None:
    assert audited(tmp_path / "once", alter, range(1)) == (["identical"], {("transfer-damaged", "warning")})
    assert audited(tmp_path / "never", alter, range(0)) == (["identical"], set())


def test_what_is_the_same_twice_is_the_copys_own(tmp_path: Path) -> None:
    verdicts, told = audited(tmp_path, flipped_alike, range(100))
    assert "damaged" in verdicts
    assert "unknown" not in verdicts
    assert "transfer-damaged" not in {kind for kind, _ in told}


@pytest.mark.parametrize("alter", [flipped, cut])
def test_damage_that_is_another_each_time_leaves_the_copy_unknown(alter: Alter, tmp_path: Path) -> None:
    assert audited(tmp_path, alter, range(100)) == (["unknown"], {("file-unreadable", "error")})


def epoch_raised(data: bytes, number: int) -> bytes:
    """Alter what no checksum covers: the leader epoch of the first batch."""
    return data[:12] + (7 + number).to_bytes(4) + data[16:]


@pytest.mark.parametrize("alter", [flipped, cut, padded, epoch_raised])
def test_a_comparison_believes_what_is_as_it_was_examined(alter: Alter, tmp_path: Path) -> None:
    told: dict[str, set[str]] = {}

    def compared(place: Path, transfers: range) -> Any:
        logs = batches(6), [*batches(4), *batches(2, epoch=1, start=12, branch="other")]
        roots = [write_root(place / f"broker-{node}", {"t-0": log}, node=node) for node, log in enumerate(logs)]
        file = max((roots[0] / "t-0").glob("*.log"))
        store = FaultyStore(file, alter, transfers)
        with store.in_place():
            document = audit_locally([store.address(root) for root in roots], workers=0).document
        assert store.read[str(file)] > 1, "it was read again to compare"
        (partition,) = document["partitions"]
        told[place.name] = {each["kind"] for each in document["findings"]}
        return partition["verdicts"], partition["pairs"], partition["candidates"]

    sound = compared(tmp_path / "sound", range(0))

    assert "forked" in sound[0]
    assert compared(tmp_path / "once", range(1, 2)) == sound
    assert told["once"] - told["sound"] == {TRANSFER_DAMAGED}
    always = compared(tmp_path / "always", range(1, 1_000))
    assert "unknown" in always[0]
    assert always != sound
