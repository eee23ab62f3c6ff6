"""What a wrapper of magic 0 or 1 may hold that nobody can decompress is unreadable, and not compacted."""

from pathlib import Path

import cramjam
import pytest

from replication.explain import Why, explain
from tests.logstore.batch.test_legacy_batch import GZIP, message


@pytest.mark.parametrize("magic", [0, 1])
def test_what_a_wrapper_may_hold_that_nobody_can_read_is_not_compacted(tmp_path: Path, magic: int) -> None:
    def wrapper(first: int) -> bytes:
        inner = [message(first * (1 - magic) + number, b"v", magic=magic) for number in range(10)]
        return message(first + 9, bytes(cramjam.gzip.compress(b"".join(inner))), magic=magic, attributes=GZIP)

    directory = tmp_path / "broker-1/t-0"
    directory.mkdir(parents=True)
    unread = message(29, b"this is no gzip", magic=magic, attributes=GZIP)
    log = b"".join([wrapper(0), wrapper(10), unread, wrapper(30)])
    (directory / f"{0:020d}.log").write_bytes(log)
    (directory.parent / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 40\n")
    found = explain("t-0", [directory.parent]).ranges
    ranges = [(each.first_offset, each.last_offset, each.why) for each in found]
    assert [each for each in ranges if each[2] is not Why.DELIVERED] == [(20, 29, Why.UNREADABLE)]
