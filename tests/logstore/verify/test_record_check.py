"""Records that cannot be decoded although their batch's checksum is valid."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

from logstore.offline.columns import record_faults
from tests.logstore.batches import GZIP, LOG_APPEND_TIME, batch, record
from tests.logstore.golden import LEGACY
from tests.logstore.verify.logs import COMPACTED, findings, kinds, write_log

SOUND = batch(records=[record()])
CODECS: list[tuple[int, Callable[[bytes], bytes]]] = [
    (0, bytes),
    (GZIP, lambda section: bytes(cramjam.gzip.compress(section))),
]


def message(offset: int, value: bytes, attributes: int = 0) -> bytes:
    """A message of magic 1."""
    checked = struct.pack(">bbqii", 1, attributes, 5, -1, len(value)) + value
    return struct.pack(">qiI", offset, 4 + len(checked), zlib.crc32(checked)) + checked


@pytest.mark.parametrize(("codec", "compress"), CODECS, ids=["plain", "compressed"])
@pytest.mark.parametrize(
    ("records", "kind", "meaning"),
    [
        ([record(), record(offset_delta=1, length=50)], "record-unreadable", "length is impossible"),
        ([record(), record(offset_delta=1, header_count=1)], "record-unreadable", "do not fill its length"),
        ([record()], "record-unreadable", "not as many as the header counts"),
        ([record(), record(offset_delta=2)], "record-offset-wrong", "outside its batch"),
        ([record(offset_delta=1), record(offset_delta=1)], "record-offset-wrong", "does not rise"),
        ([record(offset_delta=2), record(offset_delta=1, length=50)], "record-unreadable", "its length is"),
    ],
)
def test_each_fault_is_found_compressed_or_not(
    tmp_path: Path, codec: int, compress: Callable[[bytes], bytes], records: list[bytes], kind: str, meaning: str
) -> None:
    section = compress(b"".join(records))
    bad = batch(section=section, attributes=codec, base_offset=1, record_count=2, last_offset_delta=1)
    directory = write_log(tmp_path, {0: [SOUND, bad]})
    assert kinds(directory) == []
    (found,) = findings(directory, records=True)
    assert (found.kind, found.offset) == (kind, 1)
    assert meaning in found.message
    position = found.position or 0
    assert position == len(SOUND) if codec else len(SOUND) <= position <= len(SOUND + bad)


def test_records_that_do_not_decompress(tmp_path: Path) -> None:
    bad = batch(section=b"no gzip", attributes=GZIP, base_offset=1, record_count=1)
    found = findings(write_log(tmp_path, {0: [SOUND, bad]}), records=True)
    assert [(each.kind, each.position, each.offset) for each in found] == [("record-unreadable", len(SOUND), 1)]


@pytest.mark.parametrize("at_once", [1, 20, record_faults._AT_ONCE])
def test_of_batches_that_are_decoded_at_once_each_keeps_its_own_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(record_faults, "_AT_ONCE", at_once)
    kinds = {"sound": [record()], "late": [record(), record()], "short": [record(length=50)]}
    sections = {name: bytes(cramjam.gzip.compress(b"".join(records))) for name, records in kinds.items()}
    sections["broken"] = b"no gzip"
    order = ["sound", "late", "sound", "broken", "short", "sound", "late", "broken", "broken", "short", "sound"]
    batches = [
        batch(section=sections[name], attributes=GZIP, base_offset=offset, record_count=1)
        for offset, name in enumerate(order)
    ]
    told = {"late": "not as many as the header counts, 7 bytes", "short": "is impossible, 0 bytes", "broken": "gzip"}
    found = findings(write_log(tmp_path, {0: batches}), records=True)
    assert [each.offset for each in found] == [offset for offset, name in enumerate(order) if name in told]
    assert all(told[order[each.offset or 0]] in each.message for each in found)


def test_records_of_a_batch_whose_checksum_fails_are_not_looked_at(tmp_path: Path) -> None:
    bad = batch(records=[record(length=50)], base_offset=1, crc=0)
    assert kinds(write_log(tmp_path, {0: [SOUND, bad]}), records=True) == ["corrupt-batch"]


@pytest.mark.parametrize("file", sorted(LEGACY.glob("*.log")), ids=lambda path: path.stem)
def test_old_message_sets_of_kafkas_own_client_are_sound(tmp_path: Path, file: Path) -> None:
    directory = write_log(tmp_path, {0: [file.read_bytes()]})
    assert [each for each in findings(directory, records=True) if each.kind == "record-unreadable"] == []


def test_an_old_message_whose_fields_do_not_fit_is_found(tmp_path: Path) -> None:
    sound = message(0, b"value")
    checked = struct.pack(">bbqii", 1, 0, 5, -1, 90) + b"short"
    bad = struct.pack(">qiI", 1, 4 + len(checked), zlib.crc32(checked)) + checked
    directory = write_log(tmp_path, {0: [sound, bad]})
    assert "record-unreadable" not in kinds(directory)
    found = [each for each in findings(directory, records=True) if each.kind == "record-unreadable"]
    assert [(each.position, each.offset) for each in found] == [(len(sound), 1)]


class TestTimestamps:
    """A header tells the largest time of its records, by which retention deletes and searches by time begin."""

    RECORDS = (record(timestamp_delta=5), record(offset_delta=1, timestamp_delta=-3))

    @pytest.mark.parametrize(("codec", "compress"), CODECS, ids=["plain", "compressed"])
    @pytest.mark.parametrize(
        ("header", "is_right"),
        [
            ({"max_timestamp": 1_005}, True),
            ({"max_timestamp": 1_006}, False),
            ({"max_timestamp": 1_004}, False),
            ({"base_timestamp": 999, "max_timestamp": 1_005}, False),
            ({"base_timestamp": -6, "max_timestamp": -1}, True),
            ({"base_timestamp": -9, "max_timestamp": -1}, True),
            ({"max_timestamp": 9, "attributes": LOG_APPEND_TIME}, True),
        ],
    )
    def test_it_is_that_of_the_latest_record(
        self, tmp_path: Path, codec: int, compress: Callable[[bytes], bytes], header: dict[str, int], is_right: bool
    ) -> None:
        header = header | {"attributes": header.get("attributes", 0) | codec}
        made = batch(
            section=compress(b"".join(self.RECORDS)), record_count=2, last_offset_delta=1, base_offset=1, **header
        )
        directory = write_log(tmp_path, {0: [SOUND, made]})
        assert kinds(directory) == []
        told = [(each.kind, each.position, each.offset) for each in findings(directory, records=True)]
        assert told == ([] if is_right else [("batch-header-wrong", len(SOUND), 1)])

    def test_a_batch_that_the_cleaner_emptied_keeps_its_time(self, tmp_path: Path) -> None:
        empty = batch(record_count=0, last_offset_delta=3, base_offset=1, base_timestamp=7, max_timestamp=7)
        assert kinds(write_log(tmp_path, {0: [SOUND, empty]}, name=COMPACTED), records=True) == []
