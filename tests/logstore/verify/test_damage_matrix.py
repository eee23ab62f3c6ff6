"""Every field of every file, changed by itself: what verify says of it, or why nothing can tell."""

import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import crc32c
import pytest

from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify import verify_root
from tests.logstore.verify.sound_root import ROOT_FILES, source

TXNS = "txns-0"

Change = Callable[[Path], None]

BATCH_FIELDS = {
    "base offset": (0, ">q"),
    "length": (8, ">i"),
    "leader epoch": (12, ">i"),
    "magic": (16, ">b"),
    "checksum": (17, ">I"),
    "attributes": (21, ">h"),
    "last offset delta": (23, ">i"),
    "base timestamp": (27, ">q"),
    "max timestamp": (35, ">q"),
    "producer id": (43, ">q"),
    "producer epoch": (51, ">h"),
    "base sequence": (53, ">i"),
    "record count": (57, ">i"),
}
ATTRIBUTES = {
    "codec": 0x01,
    "timestamp type": 0x08,
    "transactional": 0x10,
    "control": 0x20,
    "delete horizon": 0x40,
    "unused bit": 0x100,
}
MARKER_FIELDS = {
    "key version": (0, ">h"),
    "type": (2, ">h"),
    "value version": (5, ">h"),
    "coordinator epoch": (7, ">i"),
}
INDEX_FIELDS = {"offset": (0, ">i"), "position": (4, ">i")}
TIME_FIELDS = {"timestamp": (0, ">q"), "offset": (8, ">i")}
TRANSACTION_FIELDS = {
    "version": (0, ">h"),
    "producer id": (2, ">q"),
    "first offset": (10, ">q"),
    "last offset": (18, ">q"),
    "last stable offset": (26, ">q"),
}
SNAPSHOT_HEADER = {"version": (0, ">h"), "checksum": (2, ">I"), "count": (6, ">i")}
SNAPSHOT_FIELDS = {
    "producer id": (0, ">q"),
    "producer epoch": (8, ">h"),
    "last sequence": (10, ">i"),
    "last offset": (14, ">q"),
    "offset delta": (22, ">i"),
    "timestamp": (26, ">q"),
    "coordinator epoch": (34, ">i"),
    "transaction's first offset": (38, ">q"),
}


def add(data: bytearray, position: int, form: str, by: int) -> None:
    """Add to a field, within what it can hold."""
    (value,) = struct.unpack_from(form, data, position)
    bits = 8 * struct.calcsize(form)
    raw = (value + by) % (1 << bits)
    signed = raw - (1 << bits) if form[1].islower() and raw >> (bits - 1) else raw
    struct.pack_into(form, data, position, signed)


def batches(data: bytes) -> list[tuple[int, int]]:
    """Position and size of each batch."""
    places, position = [], 0
    while position < len(data):
        size = 12 + struct.unpack_from(">i", data, position + 8)[0]
        places.append((position, size))
        position += size
    return places


def sign(data: bytearray, position: int, size: int) -> None:
    struct.pack_into(">I", data, position + 17, crc32c.crc32c(bytes(data[position + 21 : position + size])))


def change_file(pattern: str, change: Callable[[bytearray], None]) -> Change:
    def apply(root: Path) -> None:
        (file,) = root.glob(pattern)
        data = bytearray(file.read_bytes())
        change(data)
        file.write_bytes(data)

    return apply


def change_batch(number: int, field: str, by: int, *, signed: bool) -> Change:
    """Change a header field of the last segment's batch `number`, from the end if negative."""

    def change(data: bytearray) -> None:
        position, size = batches(bytes(data))[number]
        at, form = BATCH_FIELDS[field]
        add(data, position + at, form, by)
        if signed:
            sign(data, position, size)

    return change_file(f"{TXNS}/*200.log", change)


def change_attribute(number: int, bit: int) -> Change:
    def change(data: bytearray) -> None:
        position, size = batches(bytes(data))[number]
        (attributes,) = struct.unpack_from(">h", data, position + 21)
        struct.pack_into(">h", data, position + 21, attributes ^ bit)
        sign(data, position, size)

    return change_file(f"{TXNS}/*200.log", change)


def change_slot(suffix: str, number: int, size: int, field: tuple[int, str], by: int) -> Change:
    at, form = field
    return change_file(f"{TXNS}/*200{suffix}", lambda data: add(data, number * size + at, form, by))


def make_last_entry_late(data: bytearray) -> None:
    add(data, (len(data) // 12 - 1) * 12, ">q", 10 * 365 * 86_400_000)


def change_marker(field: tuple[int, str], by: int) -> Change:
    """Change a field of the first control record in the last segment."""
    at, form = field

    def change(data: bytearray) -> None:
        position, size = next(place for place in batches(bytes(data)) if data[place[0] + 22] & 0x20)
        add(data, position + 66 + at, form, by)
        sign(data, position, size)

    return change_file(f"{TXNS}/*200.log", change)


def exchange_letters(data: bytearray) -> None:
    at = data.index(b"topic_id: ") + 10
    data[at : at + 2] = data[at + 1], data[at]


def change_snapshot(field: tuple[int, str], by: int, *, header: bool = False) -> Change:
    at, form = field

    def change(data: bytearray) -> None:
        add(data, at + (0 if header else 10), form, by)
        if not header:
            struct.pack_into(">I", data, 2, crc32c.crc32c(bytes(data[6:])))

    return change_file(f"{TXNS}/*.snapshot", change)


def change_number(pattern: str, line: int, word: int, by: int) -> Change:
    """Change a number of a text file."""

    def change(data: bytearray) -> None:
        lines = data.decode().split("\n")
        words = lines[line].split(" ")
        words[word] = str(int(words[word]) + by)
        lines[line] = " ".join(words)
        data[:] = "\n".join(lines).encode()

    return change_file(pattern, change)


def changes() -> Iterator[tuple[str, Change]]:
    for field in BATCH_FIELDS:
        yield f"batch, unsigned: {field}", change_batch(5, field, 1, signed=False)
    for field in BATCH_FIELDS:
        if field != "checksum":
            for by in (1, -1, 1000):
                yield f"batch: {field} {by:+}", change_batch(5, field, by, signed=True)
    for name, bit in ATTRIBUTES.items():
        yield f"batch: {name}", change_attribute(5, bit)
    for field, place in MARKER_FIELDS.items():
        for by in (1, -1):
            yield f"marker: {field} {by:+}", change_marker(place, by)
    yield "partition.metadata: version", change_file(f"{TXNS}/partition.metadata", lambda data: add(data, 9, ">b", 1))
    yield "partition.metadata: topic id", change_file(f"{TXNS}/partition.metadata", exchange_letters)
    for field, place in INDEX_FIELDS.items():
        for by in (1, -1):
            yield f"index: {field} {by:+}", change_slot(".index", 1, 8, place, by)
    for field, place in TIME_FIELDS.items():
        for by in (1, -1):
            yield f"time index: {field} {by:+}", change_slot(".timeindex", 1, 12, place, by)
    yield "time index: last entry in the future", change_file(f"{TXNS}/*200.timeindex", make_last_entry_late)
    for field, place in TRANSACTION_FIELDS.items():
        for by in (1, -1):
            yield f"transaction index: {field} {by:+}", change_slot(".txnindex", 1, 34, place, by)
    for field, place in SNAPSHOT_HEADER.items():
        for by in (1, -1):
            yield f"snapshot: {field} {by:+}", change_snapshot(place, by, header=True)
    for field, place in SNAPSHOT_FIELDS.items():
        for by in (1, -1):
            yield f"snapshot: {field} {by:+}", change_snapshot(place, by)
    for by in (1, -1):
        for line, what in ((0, "version"), (1, "count")):
            yield f"epochs: {what} {by:+}", change_number(f"{TXNS}/leader-epoch-checkpoint", line, 0, by)
        for entry in range(2):
            yield f"epochs: epoch of entry {entry} {by:+}", change_number(f"{TXNS}/leader-epoch*", 2 + entry, 0, by)
            yield f"epochs: start of entry {entry} {by:+}", change_number(f"{TXNS}/leader-epoch*", 2 + entry, 1, by)
        for name in ROOT_FILES[1:4]:
            for line, word, what in ((0, 0, "version"), (1, 0, "count"), (2, 1, "partition"), (2, 2, "offset")):
                yield f"{name}: {what} {by:+}", change_number(name, line, word, by)


def copy(root: Path) -> Path:
    shutil.copytree(source() / TXNS, root / TXNS)
    for name in ROOT_FILES:
        content = (source() / name).read_bytes()
        if name.endswith("checkpoint"):
            lines = [line for line in content.decode().splitlines() if line.startswith("txns ")]
            content = "\n".join(["0", str(len(lines)), *lines, ""]).encode()
        (root / name).write_bytes(content)
    return root


def found(root: Path, *, records: bool) -> list[str]:
    return [each.kind for each in verify_root(OfflineLogDirectory.open(root), records=records)]


CHANGES = dict(changes())
ONLY_RECORDS = {
    "batch: attributes +1",
    "batch: codec",
    "batch: record count -1",
    *(f"batch: {field} timestamp {change}" for field in ("base", "max") for change in ("+1", "-1", "+1000")),
}
"""The header may be so, but then its records cannot be read by it, or are of another time."""

UNSEEN = {
    "batch: timestamp type": "a topic's message.timestamp.type may change at any time",
    "batch: delete horizon": "the batch then looks as the cleaner leaves it",
    "marker: key version +1": "newer versions only add fields, and are read",
    "marker: value version +1": "as above, of values",
    "marker: coordinator epoch": "only the last marker of each producer counts for a snapshot",
    "time index: timestamp +1": "an entry may name a later time, which Kafka keeps when a record is cut off",
    "time index: offset": "of several records with the same largest time, versions of Kafka name different ones",
    "epochs: start of entry 0 -1": "the file is written lazily when the log's start moves, and lags behind it",
    "log-start-offset-checkpoint: offset +1": "as above",
    "replication-offset-checkpoint: offset -1": "a high watermark lags behind the log's end",
    "partition.metadata: topic id": "no other file on the broker has the id",
}
"""By the beginning of the change's name, why nothing in the partition contradicts it."""


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy(tmp_path_factory.mktemp("untouched"))


def changed(untouched: Path, root: Path, change: Change) -> Path:
    shutil.copytree(untouched, root, dirs_exist_ok=True)
    change(root)
    return root


def reasons(name: str) -> list[str]:
    return [reason for beginning, reason in UNSEEN.items() if name.startswith(beginning)]


@pytest.mark.parametrize("records", [False, True])
def test_nothing_is_found_where_nothing_was_changed(untouched: Path, *, records: bool) -> None:
    assert found(untouched, records=records) == []


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_field_is_found_or_it_is_said_why_not(name: str, untouched: Path, tmp_path: Path) -> None:
    root = changed(untouched, tmp_path, CHANGES[name])
    by_records, by_headers = set(found(root, records=True)), set(found(root, records=False))
    assert bool(by_records) == (not reasons(name)), by_records
    assert bool(by_headers) == (not reasons(name) and name not in ONLY_RECORDS), by_headers
    assert by_headers <= by_records


def test_each_reason_is_for_a_change() -> None:
    assert {why for name in CHANGES for why in reasons(name)} == set(UNSEEN.values())
