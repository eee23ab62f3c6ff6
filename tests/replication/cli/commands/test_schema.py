"""`epochlog schema`, and that all which commands print with --json is as the schemas say."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from replication.base.errors import ACCESS_ADVICE
from replication.cli import schemas
from replication.cli.output.printing import SCHEMA_VERSION
from replication.cli.schemas import FORM, documented_commands, schema_of
from tests.data.replicas import damage_kinds, damaged, replicas
from tests.replication.cli.command import COMMANDS, epochlog
from tests.replication.cli.commands import (
    test_audit,
    test_broker,
    test_cluster,
    test_controller,
    test_demo,
    test_elect,
    test_mirror,
    test_serve,
)
from tests.replication.cli.schemas import validate, validate_output
from tests.replication.copies.audit.spark import test_reconcile_command

DATA = Path(__file__).parents[3] / "data"
NAMES = sorted(command.__name__ for command in COMMANDS)
BROKER_1, BROKER_2 = (replicas("diverged") / name for name in ("broker-1", "broker-2"))
FILES = sorted(Path(schemas.__file__).parent.glob("*.json"))
OPEN = {"metadata_record"}
"""Objects with other members than the schema names: the fields that Kafka defines for each type of metadata record."""


def objects(node: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a schema that describes an object's members, with the nearest name."""
    if isinstance(node, dict):
        if "properties" in node and node.get("type") == "object":
            yield name, node
        for key, each in node.items():
            yield from objects(each, key if key not in {"items", "properties", "anyOf"} else name)
    elif isinstance(node, list):
        for each in node:
            yield from objects(each, name)


class TestSchemas:
    def test_each_command_has_one_and_nothing_else_has(self) -> None:
        assert documented_commands() == NAMES

    @pytest.mark.parametrize("name", NAMES)
    def test_each_is_a_schema_that_stands_alone(self, name: str) -> None:
        schema = schema_of(name)
        Draft202012Validator.check_schema(schema)
        assert schema[FORM] in {"object", "lines"}
        assert schema["title"] == f"epochlog {name} --json"
        text = json.dumps(schema)
        assert f"{schemas.COMMON}#" not in text
        for reference in (part.split('"')[0] for part in text.split('"$ref": "')[1:]):
            assert reference.removeprefix("#/$defs/") in schema["$defs"]

    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
    def test_each_object_is_closed_and_names_what_it_always_has(self, file: Path) -> None:
        for name, described in objects(json.loads(file.read_text())):
            optional = {*described["properties"]} - {*described["required"]}
            assert {*described["required"]} <= {*described["properties"]}
            assert described["additionalProperties"] is (name in OPEN), name
            assert not optional or name in {"record", "items", "headers", "control_record", "voter", *OPEN}, name

    def test_a_name_means_the_same_wherever_schemas_meet(self) -> None:
        known: dict[str, str] = {}
        for file in FILES:
            for name in json.loads(file.read_text())["$defs"]:
                if name not in {"document", "partition"}:
                    assert known.setdefault(name, file.name) == file.name, name

    def test_the_version_is_the_one_that_is_printed(self) -> None:
        for file in FILES:
            for _, described in objects(json.loads(file.read_text())):
                version = described["properties"].get("schema_version", {"const": SCHEMA_VERSION})
                assert version == {"const": SCHEMA_VERSION}

    @pytest.mark.parametrize("name", NAMES)
    def test_anything_more_or_less_is_noticed(self, name: str) -> None:
        failure = epochlog(name, "--json", "--nonsense").document
        validate(name, failure)
        for wrong in ({**failure, "more": 1}, {**failure, "schema_version": 0}, {"schema_version": 1}, [], [failure]):
            with pytest.raises(pytest.fail.Exception):
                validate(name, wrong)


class TestCommand:
    def test_lists_all(self) -> None:
        outcome = epochlog("schema")
        assert [line.split("\t")[0] for line in outcome.out.splitlines()] == ["command", *NAMES]

    @pytest.mark.parametrize("name", NAMES)
    def test_prints_one(self, name: str) -> None:
        assert epochlog("schema", name).document == schema_of(name)
        [described] = epochlog("schema", name, "--json").document["schemas"]
        assert described["schema"] == schema_of(name)

    def test_refuses_what_is_no_command(self) -> None:
        outcome = epochlog("schema", "nope")
        assert outcome.status == 2
        assert "'nope' is not one of advise, audit, " in outcome.err


FAILURES: dict[str, tuple[object, ...]] = {
    "an unknown command": ("nope",),
    "an unknown option": ("verify", "--nonsense"),
    "no argument": ("plan",),
    "an empty argument": ("verify", ""),
    "a wrong value": ("truncate", DATA, "--to", "x", "--in-place"),
    "no such directory": ("verify", "/nowhere/at/all"),
    "no such replica": ("plan", "--leader", "/nowhere/at/all", "--follower", DATA),
    "no log": ("epochs", DATA / "cases"),
    "no such checkpoint": ("elect", "--bootstrap", "b:1", "--election-type", "preferred", "--topic", "a"),
    "no such file": ("audit", "/nowhere/at/all"),
}


@pytest.mark.parametrize("arguments", FAILURES.values(), ids=FAILURES)
def test_a_failure_is_one_object_on_standard_output_and_the_same_line_on_the_error_stream(
    arguments: tuple[object, ...],
) -> None:
    outcome = epochlog(*arguments, "--json")
    document = outcome.document
    assert set(document) == {"schema_version", "exit_status", "error"}
    assert document["exit_status"] == outcome.status
    assert outcome.status == (1 if arguments[0] == "elect" else 2)
    assert outcome.err.splitlines()[0].removeprefix("epochlog: ") == document["error"]["message"]
    assert epochlog(*arguments).err == outcome.err


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("cluster", "--bootstrap", "b:1", "--command-config"), "FileNotFoundError"),
        (("verify",), "NotALogDirectoryError"),
        (("audit",), "UnreadableLocationError"),
    ],
)
def test_a_failure_says_where_it_is(arguments: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    error = epochlog(*arguments, tmp_path / "nowhere", "--json").document["error"]
    assert (error["class"], error["file"]) == (kind, str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("package", "arguments", "advice"),
    [
        (
            "kio",
            ("cluster", "--bootstrap", "b:1"),
            "connecting to a cluster needs kio: install the extra `wire`, ",
        ),
        ("kio", ("mirror", "--bootstrap", "b:1", "--topics", "a", "--output", "copy"), "the mirror needs kio: "),
        (
            "confluent_kafka",
            ("salvage", BROKER_1, BROKER_2, "--kept", "broker-2", "--produce", "b:1"),
            "to write to a cluster, `salvage` needs confluent_kafka: install the extra `produce`, in a checkout: ",
        ),
        ("pyarrow", ("audit", BROKER_1), "the audit needs pyarrow: install the extra `audit`, in a checkout: "),
        (
            "py4j",
            ("audit", BROKER_1, BROKER_2, "--engine", "spark"),
            "an audit with Spark needs py4j: install the extra `spark`, in a checkout: ",
        ),
        (
            "py4j",
            ("audit", BROKER_1, BROKER_2, "--master", "local"),
            "an audit with Spark needs py4j: install the extra `spark`, in a checkout: ",
        ),
        (
            "typer",
            ("verify", BROKER_1),
            "the command line needs typer: install the extra `cli`, in a checkout: ",
        ),
    ],
)
def test_a_package_that_is_missing_is_a_failure(package: str, arguments: tuple[object, ...], advice: str) -> None:
    code = f"import sys\nsys.modules[{package!r}] = None\nfrom replication.cli.__main__ import run\nrun()"
    command = [sys.executable, "-c", code, *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    validate_output(str(arguments[0]), done.stdout)
    failure = json.loads(done.stdout)
    assert (done.returncode, failure["exit_status"], failure["error"]["class"]) == (2, 2, "MissingPackageError")
    assert failure["error"]["message"].startswith(advice)
    assert done.stderr == f"epochlog: {failure['error']['message']}\n"


def test_what_nobody_expected_is_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("this cannot be")

    monkeypatch.setattr("replication.copies.planning.named_roots.directories_in", broken)
    outcome = epochlog("verify", DATA, "--json")
    assert (outcome.status, outcome.document["error"]["class"]) == (2, "ZeroDivisionError")
    assert "Traceback" in outcome.err


def test_findings_that_are_cut_short_are_whole_json_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def findings(root: Any, **_: object) -> Iterator[Any]:
        yield from all_findings(root)
        raise PermissionError(13, "Permission denied", "orders-0")

    all_findings: Callable[[Any], Iterator[Any]] = __import__("logstore.verify", fromlist=["verify"]).verify
    monkeypatch.setattr("logstore.verify.verify", findings)
    outcome = epochlog("verify", replicas("diverged") / "broker-1", "--json")
    assert outcome.status == 2
    assert outcome.document["findings"]
    assert outcome.document["error"]["file"] == "orders-0"
    assert outcome.err == f"epochlog: orders-0: Permission denied; {ACCESS_ADVICE}\n"


def test_a_name_that_is_no_text_is_escaped(tmp_path: Path) -> None:
    strange = tmp_path / "a\udcff\\udcff-0"
    outcome = epochlog("verify", strange, "--json")
    assert outcome.document["error"]["file"] == str(strange).replace("\udcff", "\\xff")
    outcome.out.encode("ascii")


COPY = "copy"
"""Stands for a directory to be made."""
ON_REAL_DATA: dict[str, tuple[object, ...]] = {
    "dump": (BROKER_1 / "txns-0",),
    "verify": (BROKER_1, BROKER_2, "--records"),
    "epochs": (BROKER_1, "--rebuild", "--output", COPY),
    "plan": ("--leader", BROKER_1, "--follower", BROKER_2),
    "advise": (BROKER_1, BROKER_2, replicas("diverged") / "broker-3"),
    "incident": (BROKER_1, BROKER_2),
    "explain": ("diverge-0", BROKER_1, BROKER_2),
    "salvage": (BROKER_1, BROKER_2, "--kept", "broker-2", "--dry-run"),
    "transactions": (BROKER_1, BROKER_2, "--kept", "broker-2"),
    "repair": (BROKER_1 / "diverge-0", "--from", BROKER_2 / "diverge-0", "--output", COPY),
    "recover": (BROKER_1, "--all", "--output", COPY),
    "truncate": (BROKER_1 / "diverge-0", "--to", "310", "--output", COPY),
    "schema": (),
    "warm": (),
    "version": (),
}
WITH_MORE_AROUND: dict[str, Callable[..., None]] = {
    "audit": test_audit.test_a_forked_cluster_is_told_in_every_form,
    "mirror": test_mirror.test_json_is_one_object_a_line,
    "cluster": test_cluster.test_json_has_all_and_only_the_partitions_that_were_chosen,
    "elect": test_elect.test_results_as_json,
    "controller": test_controller.test_it_prints_where_brokers_find_it_and_another_one_takes_over_where_it_dies,
    "broker": test_broker.test_it_joins_our_own_controller_and_prints_what_it_has,
    "format": test_broker.test_format_makes_new_directories_a_brokers,
    "reconcile": test_reconcile_command.test_json_has_counts_and_findings,
    "serve": test_serve.test_it_prints_where_brokers_listen_and_what_they_have,
    "demo": test_demo.test_its_json_has_the_facts_and_what_spark_lacks,
}
"""Commands that need Spark or brokers, or do not end by themselves: the test that sees what they print."""


def test_the_output_of_every_command_is_looked_at() -> None:
    assert sorted([*ON_REAL_DATA, *WITH_MORE_AROUND]) == NAMES


@pytest.mark.parametrize("name", ON_REAL_DATA)
def test_real_data_is_as_the_schemas_say(name: str, tmp_path: Path) -> None:
    arguments = (tmp_path / COPY if each == COPY else each for each in ON_REAL_DATA[name])
    outcome = epochlog(name, *arguments, "--json")
    printed = [json.loads(line) for line in outcome.out.splitlines()] if name == "dump" else [outcome.document]
    assert printed
    assert all(document["schema_version"] == SCHEMA_VERSION and not document.get("error") for document in printed)


def test_every_kind_of_line_of_a_dump_is_as_its_schema_says(tmp_path: Path) -> None:
    rest = shutil.copytree(BROKER_1 / "diverge-0", tmp_path / "rest-0")
    (rest / "00000000000000000000.log.swap.tmp").touch()
    (rest / "leader-epoch-checkpoint").write_text("nonsense")
    (rest / "strange").mkdir()
    (rest / "strange.txt").touch()
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version": 0, "brokerEpoch": 7}')
    metadata, offsets = DATA / "metadata", DATA / "consumer-offsets"
    legacy = sorted((DATA / "legacy").glob("magic*.log"))
    root = (BROKER_1 / name for name in ("meta.properties", "replication-offset-checkpoint", ".lock"))
    partitions = [BROKER_1 / name for name in ("txns-0", "codecs-0")]
    files = (tmp_path, *root, *partitions, *metadata.iterdir(), *offsets.iterdir(), *legacy, tmp_path / "nowhere")
    seen = set()
    for line in epochlog("dump", "--records", "--json", *files).out.splitlines():
        seen.add(json.loads(line)["kind"])
    definitions = schema_of("dump")["$defs"]
    known = {each["properties"]["kind"]["const"] for each in definitions.values() if "kind" in each["properties"]}
    assert seen == known


@pytest.mark.parametrize("kind", damage_kinds())
def test_damage_of_every_kind_is_as_the_schemas_say(kind: str, tmp_path: Path) -> None:
    """What is printed is held against its schema wherever a test runs a command with --json."""
    expected = damaged(kind, tmp_path)
    name = f"{expected['topic']}-{expected['partition']}"
    copies = sorted(tmp_path.glob(f"*/{name}"), key=lambda path: path.parent.name != expected["replica"])
    copies = copies or [tmp_path / expected["replica"]]
    for arguments in (
        ("verify", copies[0], "--records"),
        ("epochs", copies[0]),
        ("recover", copies[0], "--output", tmp_path / "recovered"),
        *((("plan", "--leader", *copies[:1], "--follower", copies[1]), ("advise", *copies)) if copies[1:] else ()),
    ):
        assert epochlog(*arguments, "--json").out
