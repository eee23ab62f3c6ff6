"""Reads the Containerfile: its stages, and the instructions of each."""

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.data.replicas import PROJECT

FILE: Final = PROJECT / "Containerfile"
KNOWN: Final = {
    *("ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "ONBUILD", "RUN"),
    *("SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
}
"""The instructions that there are."""


@dataclass(frozen=True)
class Instruction:
    """One instruction, on one line."""

    name: str
    value: str

    @property
    def words(self) -> list[str]:
        """Its arguments without options, as JSON or as words."""
        if self.value.startswith("["):
            return [str(word) for word in json.loads(self.value)]
        return [word for word in self.value.split() if not word.startswith("--")]

    def option(self, name: str) -> str | None:
        """The value of `--name=`."""
        found = re.search(rf"--{name}=(\S+)", self.value)
        return found[1] if found else None


@dataclass
class Stage:
    """One stage: what it begins with, and what is done there."""

    name: str
    base: str
    instructions: list[Instruction] = field(default_factory=list)

    def of(self, name: str) -> list[Instruction]:
        """Its instructions of one kind."""
        return [each for each in self.instructions if each.name == name]


def instructions_of(text: str) -> list[Instruction]:
    """All instructions of a text, in order; a backslash goes on in the next line, and comments may stand anywhere."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    return [Instruction(*line.split(maxsplit=1)) for line in joined]


def stages_of(instructions: list[Instruction]) -> dict[str, Stage]:
    """The stages by name, in order, with the values of arguments in place of their names."""
    stages: dict[str, Stage] = {}
    values: dict[str, str] = {}
    for each in instructions:
        value = re.sub(r"\$\{(\w+)\}", lambda named: values.get(named[1], named[0]), each.value)
        if each.name == "ARG":
            name, _, default = value.partition("=")
            values[name] = default
        if each.name == "FROM":
            base, _, name = value.split()
            stages[name] = Stage(name, base)
        elif stages:
            [*_, last] = stages.values()
            last.instructions.append(Instruction(each.name, value))
    return stages


def lineage(stages: dict[str, Stage], name: str) -> list[Stage]:
    """A stage and those that it is built on, the first one first."""
    stage = stages[name]
    return [*(lineage(stages, stage.base) if stage.base in stages else ()), stage]


def context() -> set[str]:
    """What .dockerignore lets through of the project's directory."""
    lines = (PROJECT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    return {rule.removeprefix("!") for rule in rules if rule.startswith("!")}


def extras() -> set[str]:
    """What can be installed besides the library."""
    project = tomllib.loads(Path(PROJECT / "pyproject.toml").read_text())["project"]
    return {*project["optional-dependencies"]}
