"""Whatever extras are installed, each command and each public name works, or names the extra that it needs."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.data.replicas import replicas
from tests.replication.cli.command import COMMANDS
from tests.test_extras import EXTRAS, PROJECT, installed_by

IMPORTED: Final = {"prometheus-client": "prometheus_client", "confluent-kafka": "confluent_kafka"}
"""By what name a distribution is imported, where that is another one."""
CORE: Final = {re.match(r"[\w-]+", each)[0] for each in PROJECT["dependencies"]}  # type: ignore[index]  # each has a name
OPTIONAL: Final = set[str]().union(*map(installed_by, EXTRAS)) - CORE
SETS: Final = [(), *([each] for each in EXTRAS)]
NAMES_AN_EXTRA: Final = re.compile(r"install the extra `(\w+)`, in a checkout: pip install '\.\[(?:cli,)?\1\]'")
BLOCKING: Final = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""
DOORS: Final = """
import json
from importlib import import_module

refused = {}
for package in PACKAGES:
    try:
        module = import_module(package)
        for name in getattr(module, "__all__", ()):
            try:
                getattr(module, name)
            except ModuleNotFoundError as error:
                refused[f"{package}.{name}"] = str(error)
    except ModuleNotFoundError as error:
        refused[package] = str(error)
print(json.dumps(refused))
"""
COMMANDS_RUN: Final = """
import json
from tests.replication.cli.command import epochlog

print(json.dumps([epochlog(*words).err for words in json.loads(sys.argv[1])]))
"""
PACKAGES: Final = [
    "epoch",
    "logstore",
    "replication",
    *(
        f"replication.{name}"
        for name in ("audit", "authorization", "broker", "explain", "node", "operations", "planning", "quorum_recovery")
    ),
    *(f"replication.{name}" for name in ("repair", "salvage", "serving", "standalone", "testing", "transactions")),
]
ONE, TWO, THREE = (str(replicas("diverged") / name) for name in ("broker-1", "broker-2", "broker-3"))
ALL, NO_CLIENT = ["--all-topic-partitions"], ["--command-config", "nowhere"]
CALLS: Final[dict[str, list[list[str]]]] = {
    "advise": [["advise", ONE, TWO], ["advise", ONE, TWO, "--epochs-only"]],
    "audit": [["audit", ONE, TWO, "--workers", "0"], ["audit", ONE, TWO, "--engine", "spark", "--topics", "none"]],
    "broker": [["broker", "--config", "nowhere"]],
    "cluster": [["cluster", "--bootstrap", "127.0.0.1:1", "--command-config", "nowhere"]],
    "controller": [["controller", "--zookeeper", "127.0.0.1:1", "--config", "nowhere"]],
    "demo": [["demo", "--unpack", "{new}"]],
    "dump": [["dump", f"{ONE}/diverge-0"], ["dump", f"{ONE}/diverge-0", "--output", "{new}.parquet"]],
    "elect": [["elect", "--bootstrap", "127.0.0.1:1", "--election-type", "preferred", *ALL, *NO_CLIENT]],
    "epochs": [["epochs", ONE]],
    "explain": [["explain", "diverge-0", ONE, TWO], ["explain", "diverge-0", ONE, "--got-table", "a.b"]],
    "format": [["format", "--config", "nowhere", "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg"]],
    "incident": [["incident", ONE, TWO]],
    "mirror": [["mirror", "--bootstrap", "127.0.0.1:1", "--topics", "a", "--output", "{new}", "--partition", "x"]],
    "plan": [["plan", "--leader", ONE, "--follower", TWO]],
    "reconcile": [["reconcile", ONE, "--table", "a.b"]],
    "recover": [["recover", ONE, "--dry-run"]],
    "repair": [["repair", ONE, "--from", TWO, "--output", "{new}"]],
    "salvage": [
        ["salvage", ONE, TWO, "--kept", "broker-2", "--output", "{new}.parquet"],
        ["salvage", ONE, TWO, "--kept", "broker-2", "--produce", "127.0.0.1:1", "--command-config", "nowhere"],
    ],
    "schema": [["schema", "verify"]],
    "serve": [["serve", ONE, "--validate"], ["serve", "{new}", "--listen", "127.0.0.1:0"]],
    "transactions": [["transactions", ONE, TWO, "--kept", "broker-2"]],
    "truncate": [["truncate", f"{ONE}/diverge-0", "--to", "10", "--dry-run"]],
    "verify": [["verify", ONE]],
    "version": [["version"]],
    "warm": [["warm", "--help"]],
}


def blocked_without(extras: tuple[str, ...] | list[str]) -> str:
    """Python that lets nothing be imported but what the core and these extras install."""
    installed = CORE.union(*map(installed_by, extras))
    names = sorted(IMPORTED.get(each, each) for each in OPTIONAL - installed)
    return f"NAMES = {names}\n{BLOCKING}"


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.parametrize("extras", SETS, ids=lambda extras: "+".join(extras) or "nothing")
def test_each_public_name_is_there_or_says_which_extra_it_needs(extras: tuple[str, ...]) -> None:
    done = run(f"{blocked_without(extras)}\nPACKAGES = {PACKAGES}\n{DOORS}")
    assert done.returncode == 0, done.stderr
    refused = json.loads(done.stdout)
    for name, message in refused.items():
        found = NAMES_AN_EXTRA.search(message)
        assert found, f"{name}: {message}"
        assert found[1] not in extras, f"{name}: {message}"
    if "wire" in extras:
        assert not [name for name in refused if name.startswith(("replication.testing", "replication.node"))]


def test_each_command_is_called() -> None:
    assert sorted(CALLS) == sorted(command.__name__ for command in COMMANDS)


@pytest.mark.parametrize("extras", [["cli"], ["cli", "wire"], ["cli", "audit"]], ids="+".join)
def test_each_command_works_or_says_which_extra_it_needs(extras: list[str], tmp_path: Path) -> None:
    calls = [
        [each.replace("{new}", str(tmp_path / f"{command}{number}")) for each in words]
        for command, several in CALLS.items()
        for number, words in enumerate(several)
    ]
    done = run(f"{blocked_without(extras)}\n{COMMANDS_RUN}", json.dumps(calls))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told) == len(calls)
    for words, said in zip(calls, told, strict=True):
        assert "Traceback" not in said, f"{words}: {said}"
        if "install the extra" in said:
            found = NAMES_AN_EXTRA.search(said)
            assert found, f"{words}: {said}"
            assert found[1] not in extras, f"{words}: {said}"
