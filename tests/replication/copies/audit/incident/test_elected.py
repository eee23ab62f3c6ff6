"""Whom Kafka elects is taken from the cluster's metadata: what is said is what Kafka did with the same directories."""

import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from replication.base.next_step import Step
from replication.copies.audit.incident.incident import incident_of
from replication.copies.audit.report import render
from replication.copies.audit.runbook.runbook import planned_start
from tests.replication.cli.command import Outcome, epochlog

ELECTED = Path(__file__).parents[4] / "data/elected"
TRUTH = json.loads((ELECTED / "truth.json").read_text())
METADATA = "__cluster_metadata-0"


@pytest.fixture
def cluster(tmp_path: Path) -> dict[str, Path]:
    """Two dead brokers and their controller, before Kafka started them again."""
    with tarfile.open(ELECTED / "quiet-4.3.1.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return {place.name: place for place in tmp_path.iterdir()}


def asked(command: str, *roots: Path) -> Any:
    return epochlog(command, *roots, "--json").document


def partition_of(document: Any) -> dict[str, Any]:
    [found] = [each for each in document["partitions"] if each["topic"] == TRUTH["topic"]]
    return dict(found)


def in_a_line(outcome: Outcome) -> str:
    return " ".join(outcome.out.split())


def without_metadata(cluster: dict[str, Path]) -> list[Path]:
    for place in cluster.values():
        shutil.rmtree(place / METADATA)
    return [cluster["broker-1"], cluster["broker-2"]]


@pytest.mark.parametrize("command", ["advise", "audit"])
def test_kafkas_choice_is_whom_kafka_elected_and_what_it_loses_is_what_was_lost(
    cluster: dict[str, Path], command: str
) -> None:
    partition = partition_of(asked(command, *cluster.values()))
    election = partition["election"]
    assert partition["kafkas_choice"] == f"broker-{TRUTH['elected']}"
    assert (election["metadata_of"], election["is_complete"], election["why_unknown"]) == ("controller-100", True, None)
    assert {name: election[name] for name in ("leader", "leader_epoch", "isr", "elr")} == {
        name: TRUTH[name] for name in ("leader", "leader_epoch", "isr", "elr")
    }
    [candidate] = [each for each in partition["candidates"] if each["replica"] == partition["kafkas_choice"]]
    assert candidate["acknowledged"]["records"] == TRUTH["acknowledged_records_lost"]
    [cut] = [each for each in partition["pairs"] if each["leader"] == partition["kafkas_choice"]]
    assert cut["truncate_to"] == TRUTH["cut_on_broker_1"]["to"]
    assert (partition["latest_and_longest"], partition["least_loss"]) == ("broker-1", "broker-1")
    assert partition["choices_differ"]


def test_by_epochs_alone_it_is_the_same_election(cluster: dict[str, Path]) -> None:
    outcome = epochlog("advise", *cluster.values(), "--epochs-only", "--json")
    [told] = outcome.document["by_epochs"]
    expected = partition_of(asked("advise", *cluster.values()))
    assert outcome.status == 1
    assert {name: told[name] for name in ("kafkas_choice", "election", "missing")} == {
        name: expected[name] for name in ("kafkas_choice", "election", "missing")
    }
    assert told["election"]["forced"]
    said = epochlog("advise", *cluster.values(), "--epochs-only").out.splitlines()
    who = (
        "quiet-0: Kafka elects broker-2, as the last known leader, as no replica is left that is known to have "
        "everything"
    )
    assert who in said


def test_by_epochs_alone_a_broker_that_is_elected_without_its_copy_is_told(cluster: dict[str, Path]) -> None:
    shutil.rmtree(cluster["broker-2"] / "quiet-0")
    outcome = epochlog("advise", *cluster.values(), "--epochs-only")
    assert "broker-2 has no copy here, begins with an empty log, and all is lost" in outcome.out
    assert outcome.status == 1


def test_by_epochs_alone_who_has_everything_and_is_not_at_hand_is_told(cluster: dict[str, Path]) -> None:
    copy_of_1 = cluster["broker-1"].with_name("broker-9")
    shutil.copytree(cluster["broker-1"], copy_of_1)
    properties = copy_of_1 / "meta.properties"
    properties.write_text(properties.read_text().replace("node.id=1", "node.id=9"))
    outcome = epochlog("advise", cluster["broker-1"], copy_of_1, cluster["controller-100"], "--epochs-only")
    assert "broker 2 led quiet-0 last, elected uncleanly, and alone has what was written since: find" in outcome.out
    assert "whichever leads" not in outcome.out
    assert outcome.status == 1


def test_an_incident_says_whom_kafka_elects_what_that_loses_and_which_course_keeps_it(cluster: dict[str, Path]) -> None:
    outcome = epochlog("incident", *cluster.values())
    short = (
        "broker-1 leads by the runbook: no loss is known; if all start at once Kafka elects broker-2: 70 records lost"
    )
    assert f"quiet-0, lagging: {short}, 70 of them acknowledged" in in_a_line(outcome)
    assert outcome.out.endswith(
        "Exit status 3: acknowledged records are lost, or will be if Kafka's own course is taken.\n"
    )
    told = in_a_line(epochlog("incident", *cluster.values(), "--verbose"))
    assert (
        "Kafka elects broker-2, as the last known leader, as no replica is left that is known to have everything"
    ) in told
    assert "if broker-2 leads, 70 records of 2026-11-28 18:30:34 UTC are lost, all of them known to be ackn" in told
    assert "least is lost under broker-1: choose before it elects" in told
    assert "Let Kafka elect" not in told
    assert outcome.status == 3


def test_who_has_everything_by_the_metadata_and_lacks_some_may_have_another_log(
    cluster: dict[str, Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    document = asked("audit", *cluster.values())
    election = partition_of(document)["election"]
    assert election["is_recovering"], "the last election was unclean, which tells why"
    assert disks_to_find(document) == []
    [partition] = [each for each in document["partitions"] if each["topic"] == TRUTH["topic"]]
    partition["election"]["is_recovering"] = False
    [step] = disks_to_find(document)
    assert step.what.startswith(
        "Find the disk that broker-2 had before: by the cluster's metadata it has everything of q"
    )
    assert "If it is gone for good, so is what it alone had" in step.what
    assert step.stopped == "broker-2: until its former disk is back, or a step below says to start it"
    behind = "By the metadata broker-2 has everything, and yet it lacks acknowledged records that are here"
    assert incident_of(document).stakes[0].sentences[0].startswith(behind)
    page.write_text(render(document))
    assert behind in re.sub("<[^>]*>", "", page.read_text())
    partition["election"]["is_complete"] = False
    assert disks_to_find(document) == [], "by metadata that may be old"


def disks_to_find(document: Any) -> list[Step]:
    return [step for step in incident_of(document).steps if step.what.startswith("Find the disk")]


def test_no_order_of_starts_but_an_election_that_is_asked_for_keeps_it(cluster: dict[str, Path]) -> None:
    election = partition_of(asked("audit", *cluster.values()))["election"]
    assert {each["leader"] for order in election["orders"] for each in order["elections"]} == {2}
    forced = {tuple(order["started"]): [each["leader"] for each in order["elections"]] for order in election["forced"]}
    assert forced == {(1,): [1], (2,): [2], (1, 2): [2]}


def test_a_broker_that_has_a_vote_as_a_controller_starts_as_one_before_its_turn(cluster: dict[str, Path]) -> None:
    told = " ".join(step["what"] for step in asked("incident", *cluster.values())["steps"])
    assert "process.roles" not in told
    controller = cluster["controller-100"]
    for place in (cluster["broker-1"], cluster["broker-2"]):
        shutil.rmtree(place / METADATA)
    shutil.copytree(controller / METADATA, cluster["broker-2"] / METADATA)
    for place, node in ((cluster["broker-2"], 100), (controller, 2)):
        properties = place / "meta.properties"
        properties.write_text(re.sub(r"node\.id=\d+", f"node.id={node}", properties.read_text()))
    document = asked("audit", cluster["broker-1"], cluster["broker-2"])
    assert partition_of(document)["election"]["voters"] == [100]
    told = " ".join(step["what"] for step in asked("incident", cluster["broker-1"], cluster["broker-2"])["steps"])
    assert "Of the brokers each of these is a controller as well, with a vote (" in told
    assert "its own settings: broker-2 " in told


def test_a_brokers_copy_of_the_metadata_tells_it_too_and_what_it_may_lack_is_said(cluster: dict[str, Path]) -> None:
    brokers = cluster["broker-1"], cluster["broker-2"]
    election = partition_of(asked("audit", *brokers))["election"]
    assert (election["metadata_of"], election["is_complete"]) == ("broker-2", False)
    told = in_a_line(epochlog("incident", *brokers, "--verbose"))
    assert "known to have everything (by broker-2's copy of the metadata, which may lack what was decided last)" in told


def test_a_broker_that_stopped_cleanly_is_still_eligible(cluster: dict[str, Path]) -> None:
    CleanShutdown(78).write(cluster["broker-2"] / CLEAN_SHUTDOWN_NAME)
    [elected] = partition_of(asked("audit", *cluster.values()))["election"]["together"]
    assert (elected["replica"], elected["reason"], elected["unclean"]) == ("broker-2", "eligible", False)


@pytest.mark.parametrize("command", ["incident", "advise", "audit"])
def test_without_metadata_the_files_do_not_tell_whom_kafka_elects(cluster: dict[str, Path], command: str) -> None:
    outcome = epochlog(command, *without_metadata(cluster), *(["--verbose"] if command == "incident" else []))
    told = in_a_line(outcome)
    assert "Kafka elects broker" not in told
    assert "he files do not show whom Kafka elects" in told
    named = (
        "lagging not known broker-1" if command == "audit" else "broker-1 has the latest leader epoch and the longest"
    )
    assert named in told.replace(" (leader epoch 0, end offset 570)", "")
    assert outcome.status == 1


def test_without_metadata_the_reason_is_said(cluster: dict[str, Path]) -> None:
    brokers = without_metadata(cluster)
    assert partition_of(asked("audit", *brokers))["kafkas_choice"] is None
    assert "none of the directories holds the cluster's metadata" in in_a_line(epochlog("incident", *brokers))


def test_where_a_controller_has_everything_nothing_has_to_be_restored(cluster: dict[str, Path]) -> None:
    told = in_a_line(epochlog("incident", *cluster.values()))
    assert (
        "has all metadata that was committed. Only if the controllers' own directories are lost, restore them" in told
    )
    assert "restore the controllers from" not in told


def test_who_is_known_to_have_everything_and_is_not_at_hand_comes_first(cluster: dict[str, Path]) -> None:
    shutil.copytree(cluster["broker-1"], cluster["broker-1"].with_name("broker-9"))
    other = cluster["broker-1"].with_name("broker-9")
    properties = (other / "meta.properties").read_text()
    (other / "meta.properties").write_text(properties.replace("node.id=1", "node.id=9"))
    shutil.rmtree(other / METADATA)
    told = asked("incident", cluster["broker-1"], other, cluster["controller-100"])
    [stake] = told["partitions"]
    assert stake["sentences"][0] == (
        "Broker 2 led quiet-0 last, elected uncleanly, and alone has what was written since: find its disk."
    )
    assert "find its disk first." in told["headline"]
    assert told["headline"].endswith("; not counted is what only broker 2 has, which was not read.")
    [find] = [step["what"] for step in told["steps"] if step["what"].startswith("Find the disk of broker 2 before any")]
    assert "it led quiet-0 last, elected uncleanly, and alone has what was written since" in find
    for command in ("advise", "audit"):
        outcome = epochlog(command, cluster["broker-1"], other, cluster["controller-100"])
        assert "nothing is lost" not in outcome.out
        assert "broker 2" in outcome.out
        assert outcome.status == 1


def test_a_replica_that_is_not_at_hand_is_named_though_it_is_not_eligible(cluster: dict[str, Path]) -> None:
    assert asked("incident", *cluster.values())["not_given"] == []
    given = cluster["broker-2"], cluster["controller-100"]
    told = asked("incident", *given)
    assert told["not_given"] == [{"broker": 1, "partitions": ["quiet-0"], "undecided": ["quiet-0"]}]
    assert "what only broker 1 has, which was not read" in told["headline"]
    said = in_a_line(epochlog("incident", *given))
    named = said.index("Broker 1 has replicas of 1 partition and was not given: what it has was not read")
    assert named < said.index("Next, in this order")
    back_up, look_for, again, start, *_ = told["steps"]
    assert back_up["what"].startswith("Back up")
    assert look_for["what"].startswith("Name the directories of broker 1 to this command too")
    assert again["what"].startswith("Run this again")
    assert start["loses"] == "what only broker 1 has, which was not read"
    assert all(step["what"].startswith("Preliminary: ") for step in told["steps"][3:])


def test_where_all_is_well_brokers_only_start(cluster: dict[str, Path]) -> None:
    shutil.rmtree(cluster["broker-2"] / "quiet-0")
    shutil.copytree(cluster["broker-1"] / "quiet-0", cluster["broker-2"] / "quiet-0")
    [step] = asked("incident", *cluster.values())["steps"]
    assert step["what"].startswith("With the controllers running, start broker-")
    one_is_missing = asked("incident", cluster["broker-2"], cluster["controller-100"])
    assert one_is_missing["steps"][0]["what"].startswith("Back up")


def test_a_broker_that_kafka_elects_without_its_copy_loses_everything(cluster: dict[str, Path]) -> None:
    shutil.rmtree(cluster["broker-2"] / "quiet-0")
    outcome = epochlog("incident", *cluster.values(), "--verbose")
    told = in_a_line(outcome)
    assert (
        "Find the disk that broker-2 had before: by the cluster's metadata it has a copy of quiet-0, and there" in told
    )
    assert "Keep stopped: broker-2: until its former disk is back, or a step below says to start it" in told
    assert "broker-2 has no copy here, begins with an empty log, and all is lost" in told
    assert "least is lost under broker-1: choose before it elects" in told
    assert outcome.status == 3
    document = asked("audit", *cluster.values())
    [critical] = [each for each in document["findings"] if each["severity"] == "critical"]
    assert (critical["replica"], critical["offset"]) == ("broker-1", 0)
    assert "what this copy has below its high watermark, 570, which was acknowledged" in critical["message"]
    [nothing] = partition_of(document)["without_copy"]
    assert (nothing["replica"], nothing["lost"]["records"], nothing["acknowledged"]["records"]) == (
        "broker-2",
        570,
        570,
    )
    assert told.startswith("Who leads decides what is lost in 1 of 1 partition: up to 570 records")
    first, then = (stage.brokers for stage in planned_start(document).stages)
    assert (first, then) == (("broker-1",), ("broker-2",))


def test_a_broker_without_its_copy_that_kafka_does_not_elect_waits_for_nobody(cluster: dict[str, Path]) -> None:
    shutil.rmtree(cluster["broker-1"] / "quiet-0")
    document = asked("audit", *cluster.values())
    assert partition_of(document)["kafkas_choice"] == "broker-2"
    [stage] = planned_start(document).stages
    assert {*stage.brokers} == {"broker-1", "broker-2"}


def test_without_metadata_a_broker_that_lacks_its_copy_may_lead(cluster: dict[str, Path]) -> None:
    brokers = without_metadata(cluster)
    shutil.rmtree(cluster["broker-2"] / "quiet-0")
    document = asked("audit", *brokers)
    assert [each["replica"] for each in partition_of(document)["without_copy"]] == ["broker-2"]
    assert [stage.brokers for stage in planned_start(document).stages] == [("broker-1",), ("broker-2",)]


def test_groups_are_not_said_to_be_in_order_where_a_copy_that_is_not_here_may_have_had_more(
    cluster: dict[str, Path],
) -> None:
    """They may have read what is gone: with the only copy that is left nothing is cut, and nobody looked."""
    last = [cluster[f"broker-{TRUTH['elected']}"], cluster["controller-100"]]
    [told] = asked("incident", *last)["groups"]
    assert told.startswith(
        "not looked for in 1 partition of which no copy here is cut, and of which one that is not here"
    )
    outcome = epochlog("incident", *last)
    assert "Consumer groups beyond the end: none found" not in in_a_line(outcome)
