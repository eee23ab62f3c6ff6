"""Old names work for one version, and their warnings name the new ones."""

from pathlib import Path

import pytest

import logstore
from logstore import Isolation, Log, LogConfig, TornBatchError


@pytest.mark.parametrize(("old", "new"), [("LogRoot", "OfflineLogDirectory"), ("open_log_directory", "open_offline")])
def test_an_old_name_of_the_package_is_the_new_one(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"logstore.{old} has been renamed: use {new};"):
        assert getattr(logstore, old) is getattr(logstore, new)


def test_an_old_name_of_the_package_is_not_on_offer() -> None:
    assert not {"LogRoot", "open_log_directory"} & {*logstore.__all__, *dir(logstore)}


def test_the_old_name_of_an_isolation() -> None:
    with pytest.warns(DeprecationWarning, match=r"use Isolation\.READ_COMMITTED;"):
        assert Isolation.TXN_COMMITTED is Isolation.READ_COMMITTED
    with pytest.warns(DeprecationWarning, match=r'use Isolation\("read_committed"\);'):
        assert Isolation("txn_committed") is Isolation.READ_COMMITTED
    with pytest.raises(ValueError, match="'uncommitted' is not a valid Isolation"):
        Isolation("uncommitted")


def test_the_old_name_of_a_setting() -> None:
    with pytest.warns(DeprecationWarning, match="use accepts_unchanged;"):
        assert LogConfig().takes_as_sent


def test_the_old_name_of_a_reader(tmp_path: Path) -> None:
    Log.open(tmp_path / "t-0").close()
    with pytest.warns(DeprecationWarning, match=r"Log\.open_read_only has been renamed: use reader;"):
        reader = Log.open_read_only(tmp_path / "t-0", poll_seconds=0.5)
    assert reader.poll_seconds == 0.5


def test_the_old_name_of_an_error_s_method() -> None:
    with pytest.warns(DeprecationWarning, match="use with_position;") as warned:
        assert TornBatchError("what").placed(file="f", position=1, offset=2).position == 1
    assert [warning.filename for warning in warned] == [__file__]
