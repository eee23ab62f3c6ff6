"""What is said of real controllers' copies, one of which has the highest end offset and is the wrong one."""

import json
import shutil
from itertools import permutations
from pathlib import Path

import pytest

from replication.base.errors import DifferentClustersError, SameBrokerError
from replication.copies.quorum_recovery.wording import opening, reasons
from replication.quorum_recovery import (
    Effect,
    MetadataCopy,
    NoMetadataError,
    QuorumAdvice,
    VotersSource,
    advise_quorum,
    read_copy,
)
from replication.records.metadata.image_difference import Change, Subject
from tests.replication.copies.quorum_recovery.kept_quorums import (
    KEPT,
    METADATA,
    controllers,
    copied,
    copies_of,
    cut_off,
    log_of,
    went_on,
)

BOTH_KINDS = pytest.mark.parametrize("is_dynamic", [False, True], ids=["by configuration", "in the log"])


def advice_on(*nodes: Path) -> QuorumAdvice:
    return advise_quorum(copies_of(*nodes))


def effects(copy: MetadataCopy) -> list[Effect]:
    return [fault.effect for fault in copy.faults]


@BOTH_KINDS
def test_in_any_order_a_copy_of_the_latest_epoch_is_recommended_not_the_longest(*, is_dynamic: bool) -> None:
    root = KEPT[is_dynamic]
    wrong = f"controller-{cut_off(root)}"
    for given in permutations(controllers(root).values(), 2):
        advice = advice_on(*given)
        assert advice.best is not None
        assert advice.recommended in {f"controller-{node}" for node in went_on(root)}
        assert advice.is_complete
        misled = [wrong] if wrong in {node.name for node in given} else []
        assert list(advice.misleading) == misled
        by_offset = max(advice.copies, key=lambda each: each.position.end_offset)
        assert (by_offset.copy.name == wrong) == bool(misled), "the highest end offset is that of the wrong copy"
        assert advice.loses_what_is_committed is False


@BOTH_KINDS
def test_what_the_wrong_choice_forgets_is_told_in_words(*, is_dynamic: bool) -> None:
    root = KEPT[is_dynamic]
    advice = advice_on(*controllers(root).values())
    longest = advice.copies[-1]
    assert longest.copy.name == f"controller-{cut_off(root)}"
    assert longest.is_forked
    assert longest.differences is not None
    told = {(each.change, each.subject, each.name) for each in longest.differences}
    assert (Change.REMOVED, Subject.TOPIC, "invoices") in told
    assert (Change.REMOVED, Subject.CONFIGURATION, "topic orders") in told
    assert (Change.ADDED, Subject.TOPIC, "audit-trail") in told
    sentences = [*opening(advice), *reasons(advice)]
    name = longest.copy.name
    assert sentences[0].endswith("it has all metadata that was committed.")
    assert sentences[1].startswith(f"Do not go by the highest end offset: {name} ({longest.position.end_offset}, of ep")
    assert f"Restored from {name}, the cluster forgets 1 topic: invoices (2 partitions)." in sentences
    assert (
        f"Restored from {name}, the cluster forgets 1 configuration: topic orders (retention.ms=86400000)." in sentences
    )
    assert any("has besides 60 access control entries: allow User:bob" in each for each in sentences)
    assert sum(each.startswith("Restored") for each in sentences) == 4


@BOTH_KINDS
def test_voters_are_known_from_what_names_them(*, is_dynamic: bool) -> None:
    [copy] = copies_of(KEPT[is_dynamic] / "controller-2")
    assert copy.voters is not None
    assert [voter.node_id for voter in copy.voters.voters] == [1, 2, 3]
    assert copy.voters.source is (VotersSource.VOTERS_RECORD if is_dynamic else VotersSource.QUORUM_STATE)
    properties = (KEPT[is_dynamic] / "controller-2/meta.properties").read_text()
    [disk] = [voter.directory_id for voter in copy.voters.voters if voter.node_id == 2]
    assert disk is None or f"directory.id={disk}" in properties
    assert (disk is not None) == is_dynamic


def test_without_a_quorum_state_the_latest_leader_names_the_voters(tmp_path: Path) -> None:
    node = copied(tmp_path / "quorum") / "controller-2"
    [with_state] = copies_of(node)
    (node / METADATA / "quorum-state").unlink()
    [without] = copies_of(node)
    assert with_state.voters is not None
    assert without.voters is not None
    assert without.voters.voters == with_state.voters.voters
    assert without.voters.source is VotersSource.LEADER_CHANGE


@BOTH_KINDS
def test_a_single_copy_may_lack_what_the_others_committed_and_that_is_said(*, is_dynamic: bool) -> None:
    root = KEPT[is_dynamic]
    for node, place in controllers(root).items():
        advice = advice_on(place)
        assert (advice.recommended, advice.is_complete) == (f"controller-{node}", False)
        others = ", ".join(str(each) for each in (1, 2, 3) if each != node)
        assert advice.missing_voters == tuple(each for each in (1, 2, 3) if each != node)
        assert f"of the 3 voters only controller {node} is at hand, and it takes 2" in advice.doubts[0]
        assert f"look for the disks of controllers {others}" in advice.steps_after_backup[0].what
        assert advice.has_something_to_decide


def test_a_leader_of_its_last_epoch_has_all_of_that_epoch() -> None:
    root = KEPT[False]
    advice = advice_on(controllers(root)[cut_off(root)])
    assert any("led epoch" in doubt and "only a later leader" in doubt for doubt in advice.doubts)


def test_a_leader_of_whose_epoch_there_is_no_record_is_missed(tmp_path: Path) -> None:
    node = copied(tmp_path / "quorum") / "controller-1"
    state = json.loads((node / METADATA / "quorum-state").read_text())
    (node / METADATA / "quorum-state").write_text(json.dumps(state | {"leaderId": 3, "leaderEpoch": 9, "votedId": -1}))
    assert "controller-1 has heard of epoch 9, led by controller 3, of which no copy has a record" in str(
        advice_on(node).doubts
    )


@BOTH_KINDS
def test_brokers_have_copies_but_no_vote(*, is_dynamic: bool) -> None:
    root = KEPT[is_dynamic]
    advice = advice_on(root / "broker-10")
    assert not advice.is_of_controllers
    assert not advice.is_complete
    assert not advice.has_something_to_decide
    [said] = opening(advice)
    assert said == (
        "__cluster_metadata-0: no controller's copy is among these. If the controllers are lost, broker-10 goes "
        f"furthest ({advice.copies[0].position})."
    )
    beside = advice_on(root / "broker-10", controllers(root)[cut_off(root)])
    assert (beside.recommended, beside.is_complete) == ("broker-10", False)


def test_copies_that_agree_leave_nothing_to_decide() -> None:
    root = KEPT[False]
    advice = advice_on(*(controllers(root)[node] for node in went_on(root)))
    assert not advice.has_something_to_decide
    assert [*reasons(advice)] == []


def test_a_voter_whose_log_is_cut_short_no_longer_counts(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    first, second = went_on(root)
    log = log_of(controllers(root)[first])
    log.write_bytes(log.read_bytes()[:-10])
    advice = advice_on(controllers(root)[first], controllers(root)[second])
    assert (advice.recommended, advice.is_complete) == (f"controller-{second}", False)
    assert effects(next(each.copy for each in advice.copies if each.copy.name.endswith(str(first)))) == [
        Effect.ENDS_EARLY
    ]
    assert any("so it does not count as a voter's" in doubt for doubt in advice.doubts)


def test_a_flipped_bit_ends_the_log_there_and_the_other_copies_still_have_it(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    first, second = went_on(root)
    log = log_of(controllers(root)[first])
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    advice = advice_on(*controllers(root).values())
    assert (advice.recommended, advice.is_complete) == (f"controller-{second}", True), "the cut-off leader still counts"
    assert advice.copies[0].position.end_offset > next(
        each.position.end_offset for each in advice.copies if each.copy.name.endswith(str(first))
    )


def test_an_empty_log_is_that_of_a_lost_disk(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    first, second = went_on(root)
    place = controllers(root)[first] / METADATA
    for path in place.iterdir():
        path.unlink()
    (place / f"{0:020d}.log").touch()
    (place / "leader-epoch-checkpoint").write_text("0\n0\n")
    advice = advice_on(controllers(root)[first], controllers(root)[second])
    assert (advice.recommended, advice.is_complete) == (f"controller-{second}", False)
    assert "whose disk was lost or formatted" in str(advice.doubts)


def test_a_copy_that_no_controller_can_load_is_not_recommended(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    first, second = went_on(root)
    place = controllers(root)[first] / METADATA
    copy = read_copy(controllers(root)[first])
    (place / f"{0:020d}.log").rename(place / f"{copy.log.end_offset:020d}.log")
    (place / f"{copy.log.end_offset:020d}.log").write_bytes(b"")
    for name in (f"{0:020d}.index", f"{0:020d}.timeindex"):
        (place / name).unlink()
    (place / f"{copy.log.end_offset:020d}-{copy.log.position.epoch:010d}.checkpoint").write_bytes(b"nonsense")
    advice = advice_on(controllers(root)[first], controllers(root)[second])
    assert advice.recommended == f"controller-{second}"
    assert Effect.CANNOT_START in effects(
        next(each.copy for each in advice.copies if each.copy.name.endswith(str(first)))
    )
    alone = advice_on(controllers(root)[first])
    assert alone.recommended is None
    assert next(opening(alone)) == "__cluster_metadata-0: no controller starts with any of these copies."
    assert alone.loses_what_is_committed


def test_small_files_that_are_missing_or_wrong_are_told(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    first, second = went_on(root)
    (controllers(root)[first] / "meta.properties").unlink()
    (controllers(root)[second] / METADATA / "quorum-state").write_text("{")
    advice = advice_on(controllers(root)[first], controllers(root)[second])
    assert not advice.is_complete
    assert f"whose controller-{first} is is not known" in str(advice.doubts)
    assert "not a quorum-state file" in str(advice.doubts)


def test_a_quorum_state_from_before_the_log_is_doubtful(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    node = went_on(root)[0]
    earlier = controllers(root)[cut_off(root)] / METADATA / "quorum-state"
    shutil.copy(earlier, controllers(root)[node] / METADATA)
    [copy] = copies_of(controllers(root)[node])
    assert effects(copy) == [Effect.DOUBTFUL]
    assert "not copied together" in copy.faults[0].message


def test_a_snapshot_stands_for_what_the_log_no_longer_has(tmp_path: Path) -> None:
    """Real controllers that delete their logs' beginnings are in `test_real_quorums.py`."""
    source = KEPT[False].parent / "metadata"
    place = shutil.copytree(source, tmp_path / "controller")
    whole = read_copy(place)
    [latest] = sorted(whole.log.snapshots)[-1:]
    for path in (place / METADATA).iterdir():
        if path.suffix in {".log", ".index", ".timeindex"}:
            path.unlink()
    (place / METADATA / f"{latest.end_offset:020d}.log").touch()
    cut = read_copy(place)
    assert (cut.log.position, cut.image is not None) == (latest, True)


@BOTH_KINDS
def test_the_steps_name_whom_to_restore_and_from_what(*, is_dynamic: bool) -> None:
    advice = advice_on(*controllers(KEPT[is_dynamic]).values())
    assert advice.best is not None
    assert [command.split()[0] for command in advice.backup.commands] == ["cp"] * 3
    start, restore, _, see = advice.steps_after_backup
    assert start.what.startswith("If the disks of controllers 1, 2, 3 themselves are whole, start these as they are")
    assert f"cp -a {advice.best.copy.path} METADATA_LOG_DIR/" in restore.commands
    named = [command for command in restore.commands if command.startswith("# node.id=")]
    assert len(named) == (3 if is_dynamic else 0)
    of_a_broker, of_a_controller = see.commands
    assert of_a_broker.startswith("epochlog cluster ")
    assert ("HOST:PORT" in of_a_controller) != is_dynamic, "the log has their addresses"


def test_copies_of_two_clusters_or_of_one_node_twice_are_refused(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    with pytest.raises(SameBrokerError, match=r"node 1 by node\.id"):
        advise_quorum([read_copy(root / "controller-1"), read_copy(root / "controller-1", "again")])
    properties = root / "controller-2/meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=", "cluster.id=A"))
    with pytest.raises(DifferentClustersError):
        advice_on(root / "controller-1", root / "controller-2")


def test_copies_of_two_quorums_prove_nothing() -> None:
    """As of a cluster that was formatted again under its old id."""
    given = [*controllers(KEPT[False]).values()][:2]
    assert advice_on(*given).is_complete
    given.append(KEPT[True] / "controller-3")
    advice = advice_on(*given)
    assert not advice.is_complete
    assert advice.doubts[0].startswith("controller-1 and controller-3 contradict each other, as epoch 2 begins at diff")


def test_a_directory_without_metadata_is_refused(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    (root / "controller-1" / METADATA).rename(root / "controller-1" / "orders-0")
    for place in (root / "controller-1", root / "controller-1/orders-0"):
        with pytest.raises(NoMetadataError, match=r"metadata\.log\.dir"):
            read_copy(place)
    assert read_copy(root / "controller-2" / METADATA).name == "controller-2"
