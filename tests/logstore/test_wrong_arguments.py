"""Whatever is passed in whichever place of the public calls is taken, or refused with what to pass instead."""

import re
import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from epoch.errors import EpochError
from logstore import (
    AppendOrigin,
    BatchTemplate,
    Codec,
    Isolation,
    Log,
    LogConfig,
    LogDirectory,
    LogFile,
    LogStoreError,
    Record,
    RecordColumns,
    TopicPartition,
    encode_batch,
    encode_columns,
    encode_values,
    open_offline,
)

WRONG = (None, "x", 1.5, True, object(), [], {}, b"x", -5, 2**70, ["a"], [None], (1, 2))
SAYS_WHAT = re.compile(
    r"pass|expected|range|name it|should be|read from|wait until|room|without records"
    r"|beyond|set it|must be|needs its|no such directory|do not belong"
)

OF_LOG: dict[str, dict[str, Any]] = {
    "read": {"offset": 0, "max_bytes": 10, "isolation": Isolation.LOG_END, "min_one_batch": True},
    "offset_for_timestamp": {"timestamp": 0},
    "end_offset_for_epoch": {"epoch": 0},
    "append": {
        "records": [b"x"],
        "leader_epoch": 1,
        "template": BatchTemplate(),
        "origin": AppendOrigin.CLIENT,
        "transaction_version": 1,
        "durable": False,
    },
    "append_batches": {"data": b"", "leader_epoch": 1},
    "append_end_transaction": {
        "producer_id": 1,
        "producer_epoch": 0,
        "commit": True,
        "leader_epoch": 1,
        "coordinator_epoch": 0,
        "transaction_version": 1,
    },
    "producer": {"producer_id": 1, "new_epoch": False, "codec": Codec.NONE},
    "assign_epoch": {"epoch": 1, "start_offset": 3},
    "update_high_watermark": {"offset": 1},
    "truncate_to": {"offset": 2},
    "truncate_fully_and_start_at": {"offset": 1, "log_start_offset": 0},
    "delete_records": {"before": 1},
    "columns": {"start": 0, "end": 2, "isolation": Isolation.LOG_END},
    "to_arrow": {"start": 0, "end": 2, "isolation": Isolation.LOG_END},
    "records": {"start": 0, "end": 2, "isolation": Isolation.LOG_END},
    "tail": {"start": 0, "isolation": Isolation.LOG_END},
    "wait": {"offset": 0, "timeout": 0},
    "cursor": {"name": "one"},
    "backup": {"directory": Path("backup") / "t-0"},
}
TEMPLATE = (
    "base_offset",
    "leader_epoch",
    "codec",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "append_timestamp",
)
ELSEWHERE: dict[str, Callable[[Any], object]] = {
    **{
        f"BatchTemplate {name}": lambda wrong, name=name: encode_batch([b"x"], BatchTemplate(**{name: wrong}))
        for name in TEMPLATE
    },
    "Record.of value": lambda wrong: encode_batch([Record.of(wrong)]),
    "Record.of key": lambda wrong: encode_batch([Record.of(b"x", wrong)]),
    "Record.of timestamp": lambda wrong: encode_batch([Record.of(b"x", timestamp=wrong)]),
    "Record.of headers": lambda wrong: encode_batch([Record.of(b"x", headers=wrong)]),
    "encode_batch records": encode_batch,
    "encode_batch template": lambda wrong: encode_batch([b"x"], wrong),
    **{
        f"encode_values {name}": lambda wrong, name=name: encode_values(
            **{"values": [b"x"], "timestamps": 1, "keys": [b"k"], name: wrong}
        )
        for name in ("values", "timestamps", "keys", "template", "batch_bytes")
    },
    **{
        f"encode_columns {name}": lambda wrong, name=name: encode_columns(
            **{"records": RecordColumns.of([Record.of(b"x")], 0), name: wrong}
        )
        for name in ("records", "template", "batch_bytes")
    },
    "LogFile.open": LogFile.open,
    "Log.open": lambda wrong: Log.open(wrong).close(),
    "Log.open read_only": lambda wrong: Log.open("t-0", read_only=wrong).close(),
    "Log.open poll_seconds": lambda wrong: (
        Log.open("t-0").close(),
        Log.open("t-0", read_only=True, poll_seconds=wrong),
    ),
    "Log.reader": Log.reader,
    "LogDirectory.open": lambda wrong: LogDirectory.open(wrong).close(),
    "open_offline": open_offline,
    "LogConfig segment_bytes": lambda wrong: LogConfig(segment_bytes=wrong),
    "LogConfig retention_ms": lambda wrong: LogConfig(retention_ms=wrong),
}


def assert_told(call: Callable[[], object]) -> bool:
    """Whether a call was refused; then by an error that says what to pass."""
    try:
        call()
    except (TypeError, ValueError, OverflowError, LogStoreError, EpochError) as error:
        assert not isinstance(error, struct.error)  # noqa: PT017  what it is depends on what is passed
        assert SAYS_WHAT.search(str(error)), f"{type(error).__name__}: {error}"  # noqa: PT017
        return True
    except OSError as error:
        assert error.filename is not None  # noqa: PT017  of what is asked for and is not there
        return True
    return False


@pytest.mark.parametrize("method", OF_LOG)
def test_a_log_refuses_what_is_wrong_and_stays_as_it_was(method: str, tmp_path: Path) -> None:
    arguments = OF_LOG[method]
    for number, (name, wrong) in enumerate((name, wrong) for name in arguments for wrong in WRONG):
        with Log.open(tmp_path / f"t-{number}") as log:
            log.append([b"value"] * 3)
            log.update_high_watermark(2)
            before = log.log_start_offset, log.log_end_offset, log.high_watermark, log.epochs.entries
            if assert_told(lambda log=log, name=name, wrong=wrong: getattr(log, method)(**{**arguments, name: wrong})):  # type: ignore[misc]  bound now
                assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.epochs.entries) == before
            assert log.failure is None


@pytest.mark.parametrize("method", ["columns", "arrow_batches", "to_arrow"])
def test_a_log_file_says_which_offsets_it_takes(method: str, tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(encode_batch([b"value"] * 3))
    file = LogFile.open(tmp_path / "00000000000000000000.log")
    for name, wrong in product(("start", "end"), WRONG):
        refused = assert_told(lambda name=name, wrong=wrong: getattr(file, method)(**{name: wrong}))  # type: ignore[misc]  bound now
        assert refused or isinstance(wrong, int) or (name == "end" and wrong is None)


@pytest.mark.parametrize("place", ELSEWHERE)
def test_what_makes_values_refuses_what_is_wrong(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = [assert_told(lambda wrong=wrong: ELSEWHERE[place](wrong)) for wrong in WRONG]  # type: ignore[misc]  bound now
    assert any(refused)


@pytest.mark.parametrize("name", ["log", "create", "recover", "delete"])
def test_a_directory_refuses_what_is_no_partition(name: str, tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path / "root") as directory:
        directory.create(TopicPartition("t", 0))
        for wrong in WRONG:
            assert assert_told(lambda wrong=wrong: getattr(directory, name)(wrong))  # type: ignore[misc]  bound now
        assert directory.partitions.keys() == {TopicPartition("t", 0)}
