"""Directories whose metadata other nodes may lead are not led by a broker alone."""

from contextlib import closing
from pathlib import Path

import pytest

from logstore.files.quorum_state import QuorumState
from replication.cluster.standalone.errors import OtherVotersError, UnknownVotersError
from replication.cluster.standalone.formatting import ensure_formatted
from replication.cluster.standalone.known_voters import KnownVoters, known_voters
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.cluster.standalone.validation import directory_faults
from replication.records.metadata.records.control import ElectionVoter, LeaderChange
from tests.replication.cli.command import epochlog
from tests.replication.cli.served import everything
from tests.replication.cluster.standalone.alone import alone

BROKER = 1
METADATA = "__cluster_metadata-0"


def led_by(root: Path, *voters: int) -> Path:
    """Format a directory for broker 1, and let its metadata say who has elected a leader."""
    ensure_formatted([root], BROKER)
    elected = tuple(ElectionVoter(voter_id=each) for each in voters)
    with closing(StoredMetadata.open(root)) as metadata:
        metadata.append_control([LeaderChange(version=0, leader_id=voters[0], voters=elected, granting_voters=elected)])
    return root


@pytest.mark.parametrize("voters", [(100,), (BROKER, 2, 3)], ids=["controllers are elsewhere", "it is one of three"])
def test_where_others_have_a_vote_it_is_refused_in_one_line_and_left_alone(
    tmp_path: Path, voters: tuple[int, ...]
) -> None:
    root = led_by(tmp_path / "logs", *voters)
    before = everything(root)
    with pytest.raises(OtherVotersError):
        alone(root, tmp_path / "new")
    outcome = epochlog("serve", root, "--listen", "127.0.0.1:0")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert f"voters are {', '.join(map(str, voters))}, not node 1 alone" in outcome.err
    validated = epochlog("serve", root, "--validate")
    assert (validated.status, validated.err.count("\n")) == (1, 1)
    assert everything(root) == before
    assert not (tmp_path / "new").exists()


def test_who_has_alone_a_vote_leads_on(tmp_path: Path) -> None:
    root = led_by(tmp_path / "logs", BROKER)
    assert not list(directory_faults([root]))
    with alone(root) as broker:
        assert broker.failure is None


def test_of_its_own_directory_it_knows_that_though_a_snapshot_has_taken_the_place_of_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "logs"
    monkeypatch.setattr(StoredMetadata, "is_snapshot_due", property(lambda _: True))
    for epoch in range(3):
        with alone(root) as broker:
            broker.controller.take_due_snapshot()
            assert QuorumState.read(root / METADATA / "quorum-state").leader_epoch == epoch
    assert known_voters(root) == KnownVoters((BROKER,), is_in_settings=True)
    (root / METADATA / "quorum-state").unlink()
    with pytest.raises(UnknownVotersError):
        alone(root)
