"""What a store's digests are compared with: the bytes that were uploaded, at once or in parts."""

import base64
import hashlib
from pathlib import Path

import pytest

from replication.copies.audit.snapshots.remote.stored_digest import PART, StoredDigest

DATA = bytes(range(256)) * (PART // 256) + b"the beginning of a second part"


def md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


WHOLE = {b"ETag": f'"{md5(DATA).hex()}"'.encode()}
PARTS = {b"ETag": f'"{md5(md5(DATA[:PART]) + md5(DATA[PART:])).hex()}-2"'.encode()}
GOOGLE = {"md5Hash": base64.b64encode(md5(DATA)), "etag": b"CJi=", "Content-Type": b"x"}


@pytest.mark.parametrize("metadata", [WHOLE, PARTS, GOOGLE])
def test_a_digest_is_of_what_was_uploaded_alone(metadata: dict[bytes | str, bytes], tmp_path: Path) -> None:
    stored = StoredDigest.of(metadata)
    changed = DATA[:-1] + bytes([DATA[-1] ^ 1])
    for data, is_same in ((DATA, True), (changed, False), (DATA[:-1], False), (b"", False)):
        (tmp_path / "file").write_bytes(data)
        assert stored.is_of(data) is is_same
        assert stored.is_of(tmp_path / "file") is is_same


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {b"ETag": b'"of-a-part"'},
        {b"ETag": b'"%s-9"' % md5(DATA).hex().encode()},
        {b"ETag": b'"%s-x"' % md5(DATA).hex().encode()},
        {b"ETag": b'""'},
        {b"md5Hash": b"?"},
        {b"md5Hash": b""},
    ],
)
def test_what_is_no_digest_of_it_confirms_nothing(metadata: dict[bytes | str, bytes] | None) -> None:
    assert not StoredDigest.of(metadata).is_of(DATA)
    assert not StoredDigest.of(metadata).is_of(b"")
