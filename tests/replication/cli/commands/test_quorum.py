"""`advise`, `incident`, `plan` and `verify` on copies of the controllers' metadata."""

import shutil
from pathlib import Path

import pytest

from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.copies.quorum_recovery.kept_quorums import (
    KEPT,
    METADATA,
    controllers,
    copied,
    cut_off,
    log_of,
    went_on,
)

ROOT = KEPT[False]
ALL = [*controllers(ROOT).values()]
WRONG = controllers(ROOT)[cut_off(ROOT)]
RIGHT = [controllers(ROOT)[node] for node in went_on(ROOT)]


def test_advise_tells_what_to_restore_from_first_and_what_to_do() -> None:
    outcome = epochlog("advise", *ALL)
    assert (outcome.status, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith(f"__cluster_metadata-0: restore the controllers from {RIGHT[0].name} (epoch ")
    text = " ".join(line.strip() for line in lines)
    assert "it has all metadata that was committed." in text
    assert f"Do not go by the highest end offset: {WRONG.name}" in text
    assert f"Restored from {WRONG.name}, the cluster forgets 1 topic: invoices (2 partitions)." in text
    assert lines[-2].strip() == "epochlog cluster --bootstrap BROKER:9092"
    assert lines[-1].strip().startswith("kafka-metadata-quorum.sh")
    rows = [line.split("\t")[:3] for line in lines if line.startswith("controller-")]
    assert sorted(rows) == [[f"controller-{node}", str(node), "yes"] for node in (1, 2, 3)]
    assert all(len(line) <= 100 for line in lines if not line.startswith("     ") and "\t" not in line)


@pytest.mark.parametrize("options", [(), ("--epochs-only",)])
def test_advise_does_not_elect_a_leader_of_the_metadata(options: tuple[str, ...]) -> None:
    document = epochlog("advise", *ALL, *options, "--json").document
    assert document["partitions"] == document["by_epochs"] == document["not_compared"] == []
    advice = document["quorum"]
    assert advice["recommended"] == RIGHT[0].name
    assert advice["is_complete"]
    assert advice["misleading"] == [WRONG.name]
    assert [copy["replica"] for copy in advice["copies"]][-1] == WRONG.name
    changes = {(each["change"], each["subject"]) for each in advice["copies"][-1]["differences"]}
    assert {("removed", "topic"), ("removed", "configuration"), ("added", "access control entry")} <= changes
    assert advice["steps"][0]["commands"][0].startswith("cp -a ")


def test_one_controllers_root_is_enough_for_advice_and_a_brokers_is_not(tmp_path: Path) -> None:
    outcome = epochlog("advise", WRONG, "--json")
    assert outcome.status == 1
    assert (outcome.document["quorum"]["recommended"], outcome.document["quorum"]["is_complete"]) == (WRONG.name, False)
    for nothing in (replicas("diverged") / "broker-1", tmp_path):
        outcome = epochlog("advise", nothing)
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err.count("\n") == 1


def test_controllers_that_agree_are_no_finding_nor_are_brokers_copies_alone() -> None:
    assert epochlog("advise", *RIGHT).status == 0
    outcome = epochlog("advise", ROOT / "broker-10", *RIGHT)
    assert outcome.status == 0
    alone = epochlog("advise", ROOT / "broker-10")
    assert (alone.status, len(alone.out.splitlines())) == (0, 2)


def test_a_brokers_copy_that_differs_is_a_finding_without_any_vote(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    shutil.rmtree(root / "broker-10" / METADATA)
    shutil.copytree(controllers(root)[cut_off(root)] / METADATA, root / "broker-10" / METADATA)
    assert epochlog("advise", root / "broker-10", *(controllers(root)[node] for node in went_on(root))).status == 1


@pytest.mark.filterwarnings("default:missing copies could not be determined from the cluster's metadata")
def test_metadata_that_no_controller_can_load_is_a_failure_and_lost_metadata_is_critical(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    first = controllers(root)[went_on(root)[0]]
    log = log_of(first)
    content = log.read_bytes()
    (first / METADATA / f"{9_000:020d}-{1:010d}.checkpoint").touch()
    log.write_bytes(b"")
    outcome = epochlog("advise", first)
    assert "could not be determined from the cluster's metadata" in outcome.err
    assert (outcome.status, "no controller starts with any of these copies" in outcome.out) == (2, True)
    log.write_bytes(content)
    assert epochlog("verify", first).status == 1


def test_copies_of_brokers_without_metadata_have_no_advice_on_it() -> None:
    assert epochlog("advise", *sorted(replicas("diverged").iterdir()), "--json").document["quorum"] is None


def test_an_incident_tells_of_the_quorum_apart_from_partitions(tmp_path: Path) -> None:
    for node, place in enumerate(sorted(replicas("diverged").iterdir()), 1):
        root = shutil.copytree(place, tmp_path / place.name)
        properties = (controllers(ROOT)[node] / "meta.properties").read_text()
        shutil.copytree(controllers(ROOT)[node] / METADATA, root / METADATA)
        (root / "meta.properties").write_text(properties)
    without = epochlog("incident", replicas("diverged"), "--json").document
    outcome = epochlog("incident", *sorted(tmp_path.iterdir()), "--json")
    document = outcome.document
    unknown = [{**each, "sentences": []} for each in document["partitions"] if each["topic"] in {"diverge", "hwloss"}]
    assert unknown == [{**each, "sentences": []} for each in without["partitions"]]
    why = f"whom Kafka elects: the metadata, as broker-{went_on(ROOT)[0]} has it, has no such partition."
    [forked] = [each for each in document["partitions"] if each["topic"] == "diverge"]
    assert f"The files do not show {why}" in forked["sentences"]
    assert without["quorum"] is None
    assert document["quorum"]["recommended"] == f"broker-{went_on(ROOT)[0]}"
    steps = [step["what"].partition(".")[0].partition(",")[0] for step in document["steps"]]
    assert steps[:3] == ["Back up", "If the disks of controllers 1", "To restore"]
    assert not [step for step in steps[:3] if step.startswith("Start")], "without controllers nobody elects"
    assert [step for step in steps[3:] if "start broker" in step]
    assert outcome.status == 3
    only = epochlog("incident", *sorted(tmp_path.iterdir()), "--topics", "orders", "--json").document
    assert only["quorum"] is None


def test_an_incident_of_controllers_alone_in_text() -> None:
    outcome = epochlog("incident", *ALL)
    assert (outcome.status, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "There are no partitions of brokers to compare."
    news = f"The controllers' metadata: __cluster_metadata-0: restore the controllers from {RIGHT[0].name}"
    assert lines[2].startswith(news)
    assert not any("elect --bootstrap" in line for line in lines)


def test_an_incident_in_which_the_metadata_cannot_be_read(tmp_path: Path) -> None:
    root = copied(tmp_path / "quorum")
    for place in controllers(root).values():
        (place / METADATA / "leader-epoch-checkpoint").write_text("nonsense")
    outcome = epochlog("incident", *controllers(root).values(), "--json")
    assert outcome.status == 2
    assert outcome.document["quorum"] is None
    assert {each["topic"] for each in outcome.document["errors"]} == {"__cluster_metadata"}
    assert outcome.err.count("__cluster_metadata-0: ") == 3


def test_plan_follows_the_quorums_rules() -> None:
    [planned] = epochlog("plan", "--leader", RIGHT[0], "--follower", WRONG, "--json").document["partitions"]
    assert (planned["relation"], planned["snapshot"], planned["committed_end"]) == ("forked", None, 0)
    assert 0 < planned["truncate_to"] < planned["log_end_offset"]
    [back] = epochlog("plan", "--leader", WRONG, "--follower", RIGHT[0], "--json").document["partitions"]
    assert back["truncate_to"] == planned["truncate_to"]


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_verify_finds_nothing_wrong_with_them(*, is_dynamic: bool) -> None:
    outcome = epochlog("verify", *sorted(KEPT[is_dynamic].iterdir()), "--records", "--json")
    assert (outcome.status, outcome.document["findings"]) == (0, [])


def test_an_audit_recommends_no_leader_of_the_metadata(tmp_path: Path) -> None:
    """Under the longest copy fewest records are lost, and it is the wrong one."""
    page = tmp_path / "page.html"
    outcome = epochlog("audit", *ALL, "--json", "--report", page)
    [audited] = outcome.document["partitions"]
    assert audited["verdict"] == "forked"
    assert audited["kafkas_choice"] is audited["least_loss"] is audited["recommended"] is None
    assert audited["candidates"] == []
    assert len(audited["pairs"]) == 6
    text = epochlog("audit", *ALL).out
    assert "its leader is not chosen; `epochlog advise` says from which copy to restore controllers" in text
    assert "its leader is not chosen" in page.read_text()
