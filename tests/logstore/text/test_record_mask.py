"""What stands in the place of what producers have put into records."""

import hashlib
import hmac
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import Header, MaskForm, MaskSaltError, Record, RecordMask, mask_salt

SALT = b"0123456789abcdef"
RECORD = Record(7, 1_000, b"key", b"value", (Header("name", b"content"), Header("name", None)))


def test_a_hash_is_that_of_rfc_2104_cut_to_128_bits() -> None:
    mask = RecordMask.of("keys,values", salt=SALT)
    expected = hmac.new(SALT, b"key", hashlib.sha256).hexdigest()[:32]
    assert mask.record(RECORD).key == f"masked:{expected}".encode()


@given(st.binary(), st.binary())
def test_equal_contents_have_equal_masks_and_others_have_others(left: bytes, right: bytes) -> None:
    mask = RecordMask.of("keys,values", salt=SALT)
    assert (mask.key(left) == mask.value(right)) is (left == right)


def test_the_rest_of_a_record_stays() -> None:
    masked = RecordMask.of("keys,values").record(RECORD)
    assert (masked.offset, masked.timestamp) == (RECORD.offset, RECORD.timestamp)
    assert [value is None for _, value in masked.headers] == [False, True]
    assert masked.headers[0].key == masked.headers[1].key != "name"


def test_what_is_not_there_stays_visible_and_what_is_empty_does_not_become_nothing() -> None:
    masked = RecordMask.of("keys,values").record(Record(0, 0, None, b""))
    assert masked.key is None
    assert masked.value is not None
    assert masked.value.startswith(b"masked:")


@pytest.mark.parametrize(("parts", "seen"), [("keys", (b"value", "name")), ("values", (b"key",))])
def test_only_what_is_named_is_masked(parts: str, seen: tuple[object, ...]) -> None:
    mask = RecordMask.of(parts)
    masked = mask.record(RECORD)
    contents = (masked.key, masked.value, *(part for header in masked.headers for part in header))
    assert {*contents} & {b"key", b"value", "name", b"content"} >= {*seen}
    assert (masked.key == b"key", masked.value == b"value") == (not mask.keys, not mask.values)
    assert (masked.headers == RECORD.headers) is (not mask.values)


def test_a_length_says_nothing_else() -> None:
    mask = RecordMask.of("values", MaskForm.LENGTH)
    assert mask.record(RECORD).value == b"masked:5 bytes"
    assert mask.value(b"other") == b"masked:5 bytes"


def test_each_mask_has_its_own_salt_unless_one_is_given() -> None:
    assert len({RecordMask().key(b"key") for _ in range(3)}) == 3


def test_a_salt_is_not_shown() -> None:
    assert SALT.decode() not in repr(RecordMask(salt=SALT))


@pytest.mark.parametrize("parts", ["", "keys,", "headers", "keys,keys", "keys;values"])
def test_other_words_are_refused(parts: str) -> None:
    with pytest.raises(ValueError, match="is none of keys, values, and keys,values"):
        RecordMask.of(parts)
    with pytest.raises(ValueError, match="'md5' is neither hash nor length"):
        RecordMask.of("keys", "md5")


def test_a_salt_is_read_from_a_file_before_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "salt"
    file.write_bytes(b" " + SALT + b"\n")
    environment = {"EPOCHLOG_MASK_SALT": "fedcba9876543210"}
    assert mask_salt(file, environment) == SALT
    assert mask_salt(None, environment) == b"fedcba9876543210"
    assert len(mask_salt(None, {})) == 32
    assert mask_salt(None, {}) != mask_salt(None, {})


@pytest.mark.parametrize("salt", ["", "   ", "0123456789abcde", f"short{20 * ' '}"])
def test_a_salt_that_can_be_guessed_is_refused(salt: str, tmp_path: Path) -> None:
    (tmp_path / "salt").write_text(salt)
    for source in ((tmp_path / "salt", {}), (None, {"EPOCHLOG_MASK_SALT": salt})):
        with pytest.raises(MaskSaltError, match="give at least 16") as caught:
            mask_salt(*source)
        assert "0123456789" not in str(caught.value)
