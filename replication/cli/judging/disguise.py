"""What is passed on of an audit shows neither where it was made nor of what: other words stand for names and places."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

import typer

from logstore.shown_text import shown

if TYPE_CHECKING:
    from replication.base.next_step import Step
    from replication.copies.audit.judgement.run import Run

ShareOption = Annotated[
    bool,
    typer.Option(
        "--share",
        help="For what leaves this machine: as --mask keys,values, and copies have numbers in place of names, and no "
        "path and no host is named. Still visible: names of topics, offsets, times, sizes, epochs, and ids of the "
        "cluster, nodes and producers.",
    ),
]
PATH: Final = "PATH"
"""Stands for a path, or the address of one, that is none of a copy."""
HOST: Final = "HOST"
"""Stands for a host's name or address; a port stays behind it."""
_SAYS_SO: Final = frozenset({"topic", "partition", "kind", "severity", "verdict", "verdicts", "relation", "status"})
"""Members that are what they are: names of topics, and words of our own."""
_PLACE: Final = r"/copy-\d"
_ADDRESS: Final = r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"`,;<>]+"
_PATH: Final = rf"(?<![\w.~/>-])(?!{_PLACE})/[^\s'\"`:;,<>()]+"
_HOST_WITH_PORT: Final = r"(?<![\w.-])(?=[\w.-]*[A-Za-z])[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?=:\d{1,5}\b)"
_IP_ADDRESS: Final = r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])|\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\]"
_FINDING: Final = re.compile(r"(?P<name>.+?): (?:critical|error|warning|info) [a-z-]+(?: in |, |$)")
"""A line of a history's: which copy a finding is of."""


class Disguise:
    """Puts `copy-1` for the name of the first copy, and `/copy-1` for its directory, throughout texts and documents."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._hosts: set[str] = set()
        self._known: dict[str, str] = {}
        """Texts that were seen: in 10,000 partitions most are the same."""
        self._pattern = self._compiled()

    @classmethod
    def of(cls, *documents: Mapping[str, Any]) -> Self:
        """Return one for what audits say of where they were: a copy that two of them name has one number."""
        disguise = cls()
        for document in documents:
            for snapshot in document["snapshots"]:
                disguise._copy(snapshot["name"], snapshot["roots"])
            disguise.take_in_hosts((document["live"] or {}).get("bootstrap"))
            history = document["history"] or {"new": (), "gone": ()}
            disguise.take_in_findings([*history["new"], *history["gone"]])
        return disguise

    def take_in_paths(self, paths: Iterable[str | PurePath | None]) -> None:
        """Remember paths that are none of a copy, such as those of files that are written."""
        for path in (str(each) for each in paths if each is not None):
            if "/" in path:  # else it is a word
                self._place(path, PATH)
            self._place(os.path.abspath(path), PATH)  # noqa: PTH100  the real one is another form of it
        self._pattern = self._compiled()

    def take_in_hosts(self, addresses: str | None) -> None:
        """Remember the hosts of addresses, which have commas between: they are named nowhere."""
        for address in (addresses or "").split(","):
            host = address.rpartition("://")[2].strip().rpartition(":")[0].strip("[]")
            self._hosts |= {host} - {""}
        self._pattern = self._compiled()

    def take_in_findings(self, lines: Iterable[str]) -> None:
        """Remember the copies that lines of a history are of, which may be given no longer."""
        for line in lines:
            if found := _FINDING.match(line):
                self._copy(found["name"], ())
        self._pattern = self._compiled()

    def text(self, text: str) -> str:
        """Return a text with other words for names and places."""
        if text not in self._known:
            self._known[text] = self._pattern.sub(self._instead, text)
        return self._known[text]

    def document(self, value: Any) -> Any:
        """Return what JSON may have with all its texts so; names of topics stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: each if name in _SAYS_SO else self.document(each) for name, each in value.items()}
        return [self.document(each) for each in value] if isinstance(value, (list, tuple)) else value

    def run(self, run: "Run") -> "Run":
        """Return a run of a history with other words for the copies that findings are of."""
        since = {self.text(name): moment for name, moment in run.since.items()}
        return replace(run, findings=tuple(map(self.text, run.findings)), since=since)

    def step(self, step: "Step") -> "Step":
        """Return a step of a runbook with other words for names and places."""
        return replace(
            step,
            what=self.text(step.what),
            commands=tuple(map(self.text, step.commands)),
            stopped=step.stopped and self.text(step.stopped),
            loses=step.loses and self.text(step.loses),
            check=step.check and self.text(step.check),
            check_commands=tuple(map(self.text, step.check_commands)),
        )

    def _copy(self, name: str, roots: Sequence[str]) -> None:
        if name in self._names:
            instead = self._names[name]
        else:
            instead = f"copy-{len({each for each in self._names.values() if '/' not in each}) + 1}"
            self._names[name] = self._names[shown(name)] = instead
        for number, root in enumerate(roots, 1):
            disk = instead if len(roots) == 1 else f"{instead}/disk-{number}"
            if root not in self._places:
                # The copies from before a recovery have their names from those of after it, and lie elsewhere.
                self._place(root, f"/{disk}{'.before' if f'/{disk}' in self._places.values() else ''}")
            # A copy of a partition that lies on a second disk of a broker has the name of the disk behind the broker's.
            self._names.setdefault(f"{name}/{PurePath(root).name}", disk)

    def _place(self, path: str, instead: str) -> None:
        """Remember a path in each form that it may have in a sentence or a command, and where it really is."""
        place = path.rstrip("/")
        for each in {place, *([] if "://" in place else [os.path.realpath(place)])} - {""}:
            for form in (each, shown(each), each.replace("'", "'\"'\"'")):
                self._places.setdefault(form, instead)
            # Where a path with a blank ends in a sentence nothing shows.
            for above in (str(above) for above in PurePath(each).parents):
                if " " in above:
                    self._places.setdefault(above, PATH)

    def _compiled(self) -> re.Pattern[str]:
        """Find the longest of what is known first, and then what only looks like a path or a host."""
        self._known.clear()
        places = [rf"{re.escape(each)}(?![\w-])" for each in _longest_first(self._places)]
        names = [rf"(?<![\w.-]){re.escape(each)}(?![\w-])" for each in _longest_first(self._names)]
        hosts = [rf"(?<![\w.-]){re.escape(each)}(?![\w.-])" for each in _longest_first(self._hosts)]
        quoted = f"'(?!{'|'.join([_PLACE, *places])})/[^']*'"
        unknown = [f"(?P<path>{_ADDRESS}|{_PATH})", f"(?P<quoted>{quoted})"]
        looks = "|".join([*hosts, _HOST_WITH_PORT, _IP_ADDRESS])
        known = [f"(?P<place>{'|'.join(places)})"] if places else []
        named = [f"(?P<name>{'|'.join(names)})"] if names else []
        return re.compile("|".join([*known, *unknown, f"(?P<host>{looks})", *named]))

    def _instead(self, match: re.Match[str]) -> str:
        match match.lastgroup:
            case "place":
                return self._places[match[0]]
            case "name":
                return self._names[match[0]]
            case "quoted":
                return f"'{PATH}'"
            case "path":
                return PATH
            case _:
                return HOST


def _longest_first(known: Iterable[str]) -> list[str]:
    return sorted(known, key=len, reverse=True)
