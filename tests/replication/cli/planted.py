"""Copies with a recognizable content planted wherever records have any, and a search for it in all its forms."""

import json
from base64 import b64encode
from pathlib import Path
from struct import pack
from typing import Any, Final

import pyarrow.parquet as pq

from logstore import Codec, Header
from logstore.checksum import crc32c
from logstore.offline.log_file import LogFile
from tests.replication.copies.salvage.copies import COMMIT, Part, data, marker, write_copy

PLANTED: Final = b"4711-mary-poppins"
TEXT: Final = "é".encode() + PLANTED
"""What UTF-8 can show; its first letter is escaped by all that escapes."""
BINARY: Final = b"\xff" + PLANTED
"""What JSON shows in base64."""
LONG: Final = 100 * b"x"
"""Makes a value one that a conflict has not all of."""
HEADERS: Final = (Header(f"name-{PLANTED.decode()}", TEXT), Header("name", BINARY), Header("empty", None))
GROUP: Final = f"group-{PLANTED.decode()}"
TRANSACTIONAL_ID: Final = f"id-{PLANTED.decode()}"


def planted_copies(directory: Path) -> list[Path]:
    """Write two brokers' copies, of which the first was kept; the other has what an election cut off, and damage."""
    shared = [
        data(0, TEXT, BINARY, key=TEXT, headers=HEADERS),
        *[data(0, TEXT, BINARY, key=BINARY, headers=HEADERS, codec=codec) for codec in Codec],
        data(0, TEXT, key=TEXT, headers=HEADERS, producer=8, transactional=True),
        marker(0, COMMIT, 8),
    ]
    kept = [*shared, data(2, b"kept " + TEXT, key=b"key-" + TEXT), data(2, TEXT + LONG, key=b"long-" + TEXT)]
    losing = [
        *shared,
        data(1, b"lost " + TEXT, b"lost " + BINARY, key=b"key-" + TEXT, headers=HEADERS),
        data(1, b"lost " + TEXT + LONG, key=b"long-" + TEXT),
        data(1, b"salvaged " + TEXT, key=b"salvaged " + BINARY, headers=HEADERS),
        data(1, TEXT, key=TEXT, headers=HEADERS, codec=Codec.ZSTD),
        data(1, TEXT, key=TEXT, producer=9, transactional=True),
    ]
    roots = [write_copy(directory / f"broker-{number}", parts) for number, parts in enumerate((kept, losing))]
    for root in roots:
        write_copy(root, [(0, undecodable(data(0, TEXT, key=TEXT))), data(0, TEXT)], topic="undecodable")
        write_copy(root, _commits(), topic="__consumer_offsets")
        write_copy(root, _transactions(), topic="__transaction_state")
    write_copy(roots[0], [data(0, TEXT, key=TEXT), data(0, TEXT, key=BINARY)], topic="torn")
    torn = write_copy(roots[1], [data(0, TEXT, key=TEXT), data(0, TEXT, key=BINARY)], topic="torn")
    damage(torn / f"torn-0/{0:020d}.log")
    return roots


def undecodable(part: Part) -> bytes:
    """Make the record of a batch one that cannot be read, under a right checksum."""
    batch = bytearray(part[1])
    batch[61] = 0x7E
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


def damage(log: Path) -> None:
    """Flip a bit of the last batch, whose checksum is wrong then."""
    content = bytearray(log.read_bytes())
    content[-1] ^= 1
    log.write_bytes(content)


def _commits() -> list[Part]:
    """A group has committed an offset that no copy has."""
    key = pack(">hh", 1, len(GROUP)) + GROUP.encode() + pack(">h", 1) + b"t" + pack(">i", 0)
    return [data(0, pack(">hq", 1, 99) + pack(">h", 0) + pack(">qq", 1_700, 1_900), key=key)]


def _transactions() -> list[Part]:
    """A coordinator has done with the transaction of producer 9, which has no end in the log."""
    key = pack(">hh", 0, len(TRANSACTIONAL_ID)) + TRANSACTIONAL_ID.encode()
    return [data(0, pack(">hqhibiqq", 0, 9, 0, 60_000, 4, -1, 1_700, 1_600), key=key)]


def forms(content: bytes = PLANTED) -> set[bytes]:
    """Return what a content may look like: as it is, in hexadecimal digits, escaped, and in base64 at any place."""
    escaped = "".join(f"\\x{byte:02x}" for byte in content).encode()
    digits = content.hex().encode()
    return {content, digits, digits.upper(), escaped, *(_in_base64(content, before) for before in range(3))}


def _in_base64(content: bytes, before: int) -> bytes:
    """Encode what follows so many bytes, without the characters that have bits of others too."""
    encoded = b64encode(bytes(before) + content + bytes(3))
    return encoded[-(-8 * before // 6) : 8 * (before + len(content)) // 6]


def shown_in(output: bytes | str) -> set[bytes]:
    """Return in which forms an output shows the planted content."""
    seen = output.encode() if isinstance(output, str) else output
    return {form for form in forms() if form in seen}


def shown_in_files(place: Path) -> set[bytes]:
    """Return the same of a file or of all in a directory; Parquet and logs are read, as they are compressed."""
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return {form for file in files for form in shown_in(file.read_bytes() + _contents(file))}


def _contents(file: Path) -> bytes:
    if file.suffix == ".parquet":
        return b"".join(map(bytes_of, pq.read_table(file).to_pylist()))
    if file.suffix == ".log":
        with LogFile.open(file) as log:
            return b"".join(bytes_of(list(record)) for batch in log.batches() for record in batch.records())
    return b""


def bytes_of(value: Any) -> bytes:
    """Return all that is in rows, with bytes as they are."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict):
        return b"".join(bytes_of(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return b"".join(map(bytes_of, value))
    return json.dumps(value, default=str).encode()
