"""What tells one object from another, by what stores say of them."""

import pytest

from replication.copies.audit.snapshots.remote.stored_object import StoredObject

MD5 = b"5d41402abc4b2a76b9719d911017c592"


@pytest.mark.parametrize("tag", [MD5, MD5 + b"-12"])
def test_an_etag_that_is_a_digest_says_it_alone(tag: bytes) -> None:
    first = StoredObject.of(5, {b"ETag": b'"%s"' % tag, b"Last-Modified": b"2023-11-14T22:13:20Z"})
    copied = StoredObject.of(5, {"ETag": tag, "Last-Modified": b"2024-01-01T00:00:00Z", "VersionId": b"7"})
    assert first == copied
    assert first.is_digest


def test_so_does_googles_md5() -> None:
    first, copied = ({"md5Hash": b"XUFAKrxLKna5cZ2REBfFkg==", "generation": b"%d" % number} for number in (1, 2))
    assert StoredObject.of(5, first) == StoredObject.of(5, copied)
    assert StoredObject.of(5, first).is_digest


@pytest.mark.parametrize("changed", ["ETag", "VersionId", "Last-Modified", "generation", "updated"])
def test_of_others_all_that_tells_versions_apart_is_taken(changed: str) -> None:
    told = {"ETag": b"weak", "VersionId": b"1", "Last-Modified": b"2", "generation": b"3", "updated": b"4"}
    first = StoredObject.of(5, told)
    assert not first.is_digest
    assert first == StoredObject.of(5, {**told, "Content-Type": b"x"})
    assert first != StoredObject.of(5, {**told, changed: b"other"})


@pytest.mark.parametrize("metadata", [None, {}, {"Content-Type": b"x"}])
def test_a_store_may_say_nothing(metadata: dict[bytes | str, bytes] | None) -> None:
    assert StoredObject.of(5, metadata) == StoredObject(5, "", is_digest=False)
