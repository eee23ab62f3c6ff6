"""Recovery points of brokers that run may be of logs that were lost before; those of brokers that stopped are not."""

import shutil
from pathlib import Path

import pytest

from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import RECOVERY_POINT_CHECKPOINT
from replication.audit import audit_locally
from replication.copies.audit.incident.incident import Incident, incident_of
from tests.data.replicas import replicas


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Copies of three brokers that had run since a recovery, and of which two have stopped."""
    return shutil.copytree(replicas("reconciled"), tmp_path / "copies")


def compared(copies: Path) -> Incident:
    before = audit_locally([replicas("diverged")]).document
    return incident_of(audit_locally([copies]).document, before=before)


def claim_more(root: Path) -> None:
    file = root / RECOVERY_POINT_CHECKPOINT
    file.write_text(file.read_text().replace("diverge 0 420", "diverge 0 500"))


def test_what_a_running_broker_may_have_written_before_is_to_be_looked_at_again(copies: Path) -> None:
    (copies / "broker-2" / CLEAN_SHUTDOWN_NAME).unlink()
    claim_more(copies / "broker-2")
    found = compared(copies)
    assert found.headline.startswith("Not done yet: so far of the copies from before 82 records are gone")
    assert "recovery points are beyond the ends of logs (diverge-0 on broker-2)" in found.headline
    [step] = found.steps
    assert step.what.startswith("Copy the brokers' directories again")
    [command] = step.commands
    assert [word.rsplit("/", 2)[-2:] for word in command.split() if "/" in word] == [
        *(["copies", f"broker-{node}"] for node in (1, 2, 3)),
        *(["diverged", f"broker-{node}"] for node in (1, 2, 3)),
    ]


def test_what_a_broker_wrote_as_it_stopped_is_not_late(copies: Path) -> None:
    claim_more(copies / "broker-2")
    found = compared(copies)
    assert "recovery point 500 is above the log's end at 420" in found.damage[0]
    assert "look again then" not in found.damage[0]
    assert found.steps[0].what.startswith("Back up")


def test_where_anything_else_is_wrong_there_is_a_runbook(copies: Path) -> None:
    (copies / "broker-2" / CLEAN_SHUTDOWN_NAME).unlink()
    claim_more(copies / "broker-2")
    (copies / "broker-2/diverge-0/partition.metadata").unlink()
    found = compared(copies)
    assert "look again then" in " ".join(found.damage)
    assert found.steps[0].what.startswith("Back up")
