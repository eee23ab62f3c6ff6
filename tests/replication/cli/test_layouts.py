"""Brokers with two disks each, as a real cluster left them, are read alike by every command, however they are named."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import Result
from typer.testing import CliRunner

from replication.cli.main import app
from tests.data.layouts import STATES, WAYS, layout_truth, named, pods
from tests.replication.copies.audit.spark.source.planned import Planned

Document = dict[str, Any]
ONE: Final = [way for way in WAYS if way in {"pods", "links to pods", "volumes of links"}]
"""Ways in which a broker is one argument, for commands that take one."""
READ: Final = layout_truth()["records"]
"""What Kafka's consumer read, by state and partition."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def document_of(*arguments: object) -> Document:
    document: Document = json.loads(run(*arguments, "--json").stdout)
    return document


def twice(state: str) -> set[str]:
    """The partitions that broker 1 has on both disks."""
    return {*layout_truth()["twice"]} if state == "doubled" else set()


def names(rows: list[Document]) -> set[str]:
    return {f"{each['topic']}-{each['partition']}" for each in rows}


def delivered(rows: list[list[Any]]) -> list[tuple[int, str]]:
    return [(offset, value) for offset, value in rows]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", STATES)
class TestOfAllBrokers:
    """Commands that take every broker's directories."""

    def test_verify_finds_what_is_there_twice_and_nothing_else(self, state: str, way: str, tmp_path: Path) -> None:
        brokers = [path for each in named(way, state, tmp_path) for path in each]
        document = document_of("verify", *brokers)
        errors = [each for each in document["findings"] if each["severity"] == "error"]
        assert names(errors) == twice(state)
        assert {each["kind"] for each in errors} <= {"partition-in-two-log-dirs"}
        assert (document["damage"], document["warnings"], document["unreadable"]) == (len(twice(state)), 0, 0)
        assert run("verify", *brokers).exit_code == bool(errors)

    def test_audit_and_incident_compare_two_brokers(self, state: str, way: str, tmp_path: Path) -> None:
        brokers = [path for each in named(way, state, tmp_path) for path in each]
        audited = document_of("audit", *brokers, "--workers", 0)
        assert sorted((each["node_id"], len(each["roots"])) for each in audited["snapshots"]) == [(1, 2), (2, 2)]
        assert names([each for each in audited["findings"] if each["severity"] == "error"]) == twice(state)
        verdicts = {f"{each['topic']}-{each['partition']}": each["verdict"] for each in audited["partitions"]}
        metadata = verdicts.pop("__cluster_metadata-0")
        assert metadata == "lagging", "brokers follow it"
        assert {name for name, verdict in verdicts.items() if verdict != "identical"} == twice(state)
        told = document_of("incident", *brokers)
        assert (told["is_well"], len(told["damage"])) == (not twice(state), len(twice(state)))
        assert {each["partition"] for each in told["partitions"]} == twice(state)
        assert all(each["records"] == each["acknowledged"] == 0 for each in told["partitions"])

    def test_advise_transactions_and_salvage_leave_out_what_is_there_twice_alone(
        self, state: str, way: str, tmp_path: Path
    ) -> None:
        one, other = named(way, state, tmp_path)
        output = tmp_path / "salvaged.jsonl"
        advised = document_of("advise", *one, *other)
        for document in (
            advised,
            document_of("transactions", *one, *other, "--kept", "1"),
            document_of("salvage", *one, *other, "--kept", "1", "--to", output),
        ):
            assert names(document["errors"]) == twice(state)
            assert {each["class"] for each in document["errors"]} <= {"PartitionDoubledError"}
        judged = {f"{each['topic']}-{each['partition']}": each["verdict"] for each in advised["partitions"]}
        assert judged == {name: "unknown" if name in twice(state) else "identical" for name in judged}
        assert not output.read_bytes()

    def test_explain_and_dump_and_tables_have_what_kafkas_consumer_read(
        self, state: str, way: str, tmp_path: Path
    ) -> None:
        one, other = named(way, state, tmp_path)
        dumped: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for line in run("dump", *other, "--records", "--json").stdout.splitlines():
            row = json.loads(line)
            if row["kind"] == "record":
                dumped[Path(row["file"]).parent.name].append((row["offset"], row["value"]))
        rows: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for row in Planned(*other, topics="orders,prices", mode="FAILFAST").rows():
            rows[f"{row['topic']}-{row['partition']}"].append((row["offset"], row["value"].decode()))
        for name, read in READ[state].items():
            assert dumped[name] == rows[name] == delivered(read), name
            explained = document_of("explain", name, *one, *other)
            assert explained["counts"]["delivered"] == len(read)
            assert {*explained["counts"]} <= {"delivered", "compacted"}
            assert names(explained["errors"]) == {name} & twice(state)


@pytest.mark.parametrize("way", ONE)
@pytest.mark.parametrize("state", STATES)
def test_plan_and_epochs_take_a_broker_with_its_disks(state: str, way: str, tmp_path: Path) -> None:
    [one], [other] = named(way, state, tmp_path)
    for document in (document_of("plan", "--leader", other, "--follower", one), document_of("epochs", one)):
        assert names(document["errors"]) == twice(state)
        assert names(document["partitions"]) == {*READ[state], "__consumer_offsets-0", "__cluster_metadata-0"} - twice(
            state
        )
    plan = document_of("plan", "--leader", other, "--follower", one)
    assert {each["records_lost"] for each in plan["partitions"]} == {0}


@pytest.mark.parametrize("way", WAYS)
def test_the_copy_that_is_behind_is_the_one_to_move(way: str, tmp_path: Path) -> None:
    one, other = named(way, "doubled", tmp_path)
    behind, ahead = (pods("doubled") / f"pod-1/data-{number}/kafka-log1" for number in (0, 1))
    for name in twice("doubled") - {"__consumer_offsets-0"}:  # which is empty
        [error] = document_of("explain", name, *one, *other)["errors"]
        found = re.search(rf"(\S+)/{name} is ahead: .* move (\S+)/{name} out of", error["message"])
        assert found is not None
        assert [Path(each).resolve() for each in found.groups()] == [ahead, behind]


def test_kafkas_broker_refused_to_start_for_one_of_those() -> None:
    refusal = layout_truth()["refusal"]
    assert any(
        f"Duplicate log directories for {name} are found in both pod-1/data-" in refusal for name in twice("doubled")
    )
