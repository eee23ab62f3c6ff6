"""Options mean one thing in every command that has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from replication.cli.main import app
from replication.cli.output.renamed_options import RENAMED, renamed
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog

DIVERGED = [replicas("diverged") / f"broker-{node}" for node in (1, 2, 3)]
FLAG = ""
"""In the place of what the help calls a value."""

OPTIONS = {
    # option: (what it means, what its value is called in the help); those of one command alone mean what they do there
    "--accept-loss": ("a partition to lead with less than its checkpoint files say", {"PARTITION"}),
    "--ask": ("brokers of the running cluster, to be asked what files do not show", {"HOST:PORT,..."}),
    "--bootstrap": ("brokers of a running cluster", {"HOST:PORT,..."}),
    "--bootstrap-server": ("the same, as Kafka's tools call it", {"HOST:PORT,..."}),
    "--command-config": ("a client's properties", {"FILE"}),
    "--compacted-topics": ("topics that are known to be compacted", {"NAMES"}),
    "--config": ("the properties of a node of our own", {"FILE"}),
    "--dry-run": ("change nothing, report what would be done", {FLAG}),
    "--in-place": ("change what is named itself", {FLAG}),
    "--isolation": ("a consumer's isolation.level", {"LEVEL"}),
    "--json": ("JSON instead of text", {FLAG}),
    "--kept": ("which copy was kept", {"BROKER"}),
    "--mask": ("which contents of records are masked", {"PARTS"}),
    "--mask-as": ("what stands in a content's place", {"FORM"}),
    "--mask-salt": ("what masks are keyed with", {"FILE"}),
    "--master": ("Spark's master", {"URL"}),
    "--no-remote-storage": ("the opposite of --remote-storage", {FLAG}),
    "--offsets": ("a range of offsets", {"A:B"}),
    "--output": ("where what the command makes is written", {"DIR", "DIR2", "COPY", "FILE.parquet", "TARGET"}),
    "--overwrite": ("replace files that exist", {FLAG}),
    "--partition": ("a partition's number", {"N"}),
    "--records": ("records too, not batches alone", {FLAG}),
    "--remote-storage": ("the topic has remote storage", {FLAG}),
    "--replica": ("the copy whose log counts", {"NAME"}),
    "--replication-factor": ("how many copies there should be", {"N"}),
    "--report": ("the audit's page", {"FILE.html"}),
    "--share": ("mask contents, names of copies, hosts and paths", {FLAG}),
    "--topics": ("a choice of topics", {"NAMES"}),
    "--validate": ("report what keeps a broker from starting, start nothing", {FLAG}),
    "--yes": ("ask for no confirmation", {FLAG}),
}


def options() -> Iterator[tuple[str, str, Any]]:
    """Each command with the names of its options that the help shows."""
    commands: Any = typer.main.get_command(app)
    for command in commands.commands.values():
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                for name in (*parameter.opts, *parameter.secondary_opts):
                    yield name, command.name, parameter


def value_of(parameter: Any) -> str:
    return FLAG if parameter.is_flag else str(parameter.metavar)


def test_an_option_of_several_commands_means_one_thing_in_all_of_them() -> None:
    values: dict[str, dict[str, str]] = {}
    for option, command, parameter in options():
        values.setdefault(option, {})[command] = value_of(parameter)
    shared = {option: {*of.values()} for option, of in values.items() if len(of) > 1}
    assert shared == {option: called for option, (_, called) in OPTIONS.items()}


NEW = Path("new")
OLD_NAMES: dict[tuple[str, str], list[object]] = {
    ("explain", "--leader"): ["diverge-0", *DIVERGED[:2], "--replica", "broker-1"],
    ("mirror", "--log-dir"): ["--output", NEW, "--topics", "a", "--bootstrap", "nowhere"],
    ("mirror", "--metrics"): ["--output", NEW, "--topics", "a", "--bootstrap", "b:1", "--metrics-listener", "nowhere"],
    ("mirror", "--topic"): ["--output", NEW, "--topics", "a", "--topics=b", "--bootstrap", "b:1", "--partition", "0"],
    ("salvage", "--compacted"): [*DIVERGED, "--kept", "broker-2", "--dry-run", "--compacted-topics", "nothing"],
    ("salvage", "--to"): [*DIVERGED, "--kept", "broker-2", "--output=lost.csv"],
    ("serve", "--command-config"): [NEW, "--create", "--validate", "--config", "/nowhere/at.all"],
    ("serve", "--leader"): [NEW, "--leader-choice", "advise"],
}


@pytest.mark.parametrize(("command", "old"), OLD_NAMES)
def test_an_old_name_works_as_the_new_one_does_and_is_complained_of(command: str, old: str) -> None:
    new = RENAMED[command][old]
    arguments = list(map(str, OLD_NAMES[command, old]))
    today = epochlog(command, *arguments)
    before = epochlog(command, *(old + each.removeprefix(new) if each.startswith(new) else each for each in arguments))
    told = f"epochlog: {old} is called {new} now; the old name will be removed in the next version\n"
    times = sum(each.startswith(new) for each in arguments)
    assert (before.status, before.out, before.err) == (today.status, today.out, told * times + today.err)


def test_each_old_name_is_tried_and_no_help_has_it() -> None:
    assert {(command, old) for command, names in RENAMED.items() for old in names} == OLD_NAMES.keys()
    seen = {(command, option) for option, command, _ in options()}
    assert seen.isdisjoint(OLD_NAMES)


def test_what_stands_behind_two_dashes_is_no_option() -> None:
    assert renamed("salvage", ["--to", "a", "--", "--to"]) == ["--output", "a", "--", "--to"]
