"""A leader's high watermark never goes back; a follower's may."""

from pathlib import Path

from logstore import Log


def test_it_advances_and_never_goes_back(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"a", b"b", b"c"])
        assert [log.advance_high_watermark(offset) for offset in (2, 1, 9, 0)] == [2, 2, 3, 3]
        assert log.high_watermark == 3


def test_it_is_set_back_where_that_is_said(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"a", b"b", b"c"])
        assert [log.update_high_watermark(offset) for offset in (3, 1)] == [3, 1]


def test_a_truncation_takes_it_along(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"a", b"b"])
        log.advance_high_watermark(2)
        log.truncate_to(0)
        log.append([b"c"])
        assert log.high_watermark == 0
        assert log.advance_high_watermark(1) == 1
