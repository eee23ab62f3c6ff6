"""A controller by itself, on directories that are new, its own, or another's."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from replication.cluster.standalone.errors import OtherNodeError, OtherVotersError, UnknownVotersError
from replication.cluster.standalone.formatting import ensure_formatted
from replication.cluster.standalone.known_voters import KnownVoters, known_voters
from replication.cluster.standalone.quorum.standalone_controller import StandaloneController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_publisher import PublishedImage
from replication.records.metadata.records import NoOpRecord
from replication.records.metadata.records.control import (
    ControlMessage,
    ElectionVoter,
    KRaftVersionRange,
    LeaderChange,
    Voter,
    Voters,
)
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings

LISTENER = ListenerSettings(name="CONTROLLER", address=Address("127.0.0.1", 0))
NODE = 3


def opened(root: Path, **options: str) -> StandaloneController:
    return StandaloneController.open(root, LISTENER, node_id=NODE, **options)  # type: ignore[arg-type]


def written(root: Path, messages: Sequence[ControlMessage]) -> KnownVoters:
    """Let a directory's log say something of its quorum, and return what is made of all that it says."""
    ensure_formatted([root], NODE)
    with closing(StoredMetadata.open(root)) as metadata:
        metadata.append_control(messages)
    return known_voters(root)


def led_by(*voters: int) -> LeaderChange:
    elected = tuple(ElectionVoter(voter_id=each) for each in voters)
    return LeaderChange(version=0, leader_id=NODE, voters=elected, granting_voters=elected)


def named(*voters: int) -> Voters:
    levels = KRaftVersionRange(min_supported_version=0, max_supported_version=1)
    return Voters(
        voters=tuple(
            Voter(voter_id=each, voter_directory_id=UUID(int=each), endpoints=(), k_raft_version_feature=levels)
            for each in voters
        )
    )


def test_a_new_directory_is_formatted_and_names_its_voter_at_each_start(tmp_path: Path) -> None:
    root = tmp_path / "controller"
    for epoch in range(2):
        with opened(root, cluster_id="one") as node:
            assert node.controller.cluster_id == "one"
            assert node.server.quorum.leader == (NODE, epoch)
            assert node.server.quorum.features == {"kraft.version": 1}
            assert node.failure is None
    assert known_voters(root) == KnownVoters((NODE,))


def test_another_nodes_directory_is_left_alone(tmp_path: Path) -> None:
    ensure_formatted([tmp_path / "other"], 4)
    with pytest.raises(OtherNodeError):
        opened(tmp_path / "other")


def test_where_settings_name_the_voter_the_log_does_not_begin_to(tmp_path: Path) -> None:
    root = tmp_path / "controller"
    assert written(root, [led_by(NODE)]) == KnownVoters((NODE,), is_in_settings=True)
    with opened(root) as node:
        assert node.server.quorum.features == {}
    assert known_voters(root) == KnownVoters((NODE,), is_in_settings=True)


@pytest.mark.parametrize("said", [[led_by(2, NODE)], [led_by(NODE), named(NODE, 4)], [named(4)]])
def test_a_quorum_in_which_others_have_a_vote_is_not_led(tmp_path: Path, said: list[ControlMessage]) -> None:
    root = tmp_path / "controller"
    written(root, said)
    with pytest.raises(OtherVotersError, match="remove-controller"):
        opened(root)
    assert written(root, [named(NODE)]) == KnownVoters((NODE,)), "the last that is said counts"
    opened(root).close()


def cut(root: Path, voters: Sequence[int] = ()) -> None:
    """Let snapshots take the place of a log's beginning, and `quorum-state` remember voters, if there are any."""
    with closing(StoredMetadata.open(root)) as metadata:
        for _ in range(2):
            metadata.append([NoOpRecord()])
            metadata.begin_segment()
            image = PublishedImage(ClusterImage(), metadata.next_offset - 1, metadata.leader_epoch)
            metadata.take_snapshot(image)
        assert metadata.log.log_start_offset > 0
        state = {"leaderId": -1, "leaderEpoch": 1, "votedId": -1, "data_version": 0}
        path = metadata.log.directory / "quorum-state"
        if voters:
            path.write_text(json.dumps(state | {"currentVoters": [{"voterId": each} for each in voters]}))


def test_voters_of_settings_are_known_though_their_election_is_cut_off(tmp_path: Path) -> None:
    root = tmp_path / "controller"
    written(root, [led_by(2, NODE)])
    cut(root, [2, NODE])
    with pytest.raises(OtherVotersError, match="whose voters are 2, 3"):
        opened(root)


def test_where_settings_name_the_voter_the_log_does_not_begin_to_after_its_election_is_cut_off(tmp_path: Path) -> None:
    root = tmp_path / "controller"
    written(root, [led_by(NODE)])
    cut(root, [NODE])
    with opened(root) as node:
        assert node.server.quorum.features == {}
    assert known_voters(root) == KnownVoters((NODE,), is_in_settings=True)


def test_voters_that_the_log_names_are_known_by_its_snapshot(tmp_path: Path) -> None:
    root = tmp_path / "controller"
    written(root, [led_by(NODE), named(NODE)])
    cut(root)
    with opened(root) as node:
        assert node.server.quorum.features == {"kraft.version": 1}


def test_where_nothing_says_any_more_who_has_a_vote_nobody_leads(tmp_path: Path) -> None:
    root = tmp_path / "controller"
    written(root, [led_by(2, NODE)])
    cut(root)
    with pytest.raises(UnknownVotersError, match="put the quorum-state back"):
        opened(root)
