"""An audit that was interrupted goes on behind what it knows, whatever its last line is like."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logstore.topic_partition import TopicPartition
from replication.base.errors import NotAllowedError
from replication.cluster.network_audit.audit_state import AuditState
from replication.copies.audit.local.live_look import LiveLook
from replication.copies.audit.snapshots.work import Copy, Job

ABOUT = {"cluster_id": "c", "topics": [], "sample": 1.0, "records": False}


def look(number: int) -> LiveLook:
    copy = Copy("broker-1", "kafka://broker-1", f"t-{number}", TopicPartition("t", number), (), is_local=False)
    row = {"replica": "broker-1", "findings": [], "bytes_read": number, "summary": b"s", "digests": b"d", "piece": None}
    return LiveLook(
        {Job("broker-1", copy.root, copy): row}, {"topic": "t", "partition": number, "verdicts": ["identical"]}
    )


def written(path: Path, numbers: range) -> None:
    state = AuditState.open(path, ABOUT)
    for number in numbers:
        state.note(TopicPartition("t", number), look(number))
    state.close(is_done=False)


def found_in(path: Path) -> Mapping[TopicPartition, LiveLook]:
    state = AuditState.open(path, ABOUT)
    state.close(is_done=False)
    return state.found


def test_what_was_noted_is_found_again_without_what_only_comparing_takes(tmp_path: Path) -> None:
    path = tmp_path / "state"
    written(path, range(3))
    written(path, range(3, 5))
    assert [each.partition for each in found_in(path)] == [0, 1, 2, 3, 4]
    found, meant = found_in(path)[TopicPartition("t", 3)], look(3)
    assert found.judged == meant.judged
    assert [*found.rows] == [*meant.rows]
    (row,) = found.rows.values()
    assert row == {**next(iter(meant.rows.values())), "summary": None, "digests": None}


def test_it_is_removed_once_all_is_done(tmp_path: Path) -> None:
    path = tmp_path / "state"
    AuditState.open(path, ABOUT).close(is_done=True)
    assert not path.exists()


@given(cut=st.integers(0, 2_000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wherever_the_last_run_was_cut_off_what_was_whole_is_found(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "state"
    path.unlink(missing_ok=True)
    written(path, range(3))
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    whole = max(data[:cut].count(b"\n") - 1, 0)
    written(path, range(whole, 4))
    assert len(found_in(path)) == 4


@pytest.mark.parametrize("text", ["something else\n", '{"state_version": 1, "cluster_id": "other"}\n', "[]\n"])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state"
    path.write_text(text)
    with pytest.raises(NotAllowedError, match="a new file, or one of an audit of this cluster with the same options"):
        AuditState.open(path, ABOUT)
    assert path.read_text() == text
