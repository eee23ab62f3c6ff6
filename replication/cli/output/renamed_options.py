"""Options that have another name now: the old one works for one more version, and is in no help."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replication.cli.output.printing import complain

RENAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "explain": {"--leader": "--replica"},
    "mirror": {"--log-dir": "--output", "--metrics": "--metrics-listener", "--topic": "--topics"},
    "salvage": {"--compacted": "--compacted-topics", "--to": "--output"},
    "serve": {"--command-config": "--config", "--leader": "--leader-choice"},
}
"""The new names by the old ones, of each command that has any."""


def renamed(command: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with the new names of its options, and complain of the old ones."""
    return list(_renamed(RENAMED.get(command, {}), arguments))


def _renamed(new_names: Mapping[str, str], arguments: Sequence[str]) -> Iterator[str]:
    behind = arguments.index("--") if "--" in arguments else len(arguments)
    for argument in arguments[:behind]:
        option, equals, value = argument.partition("=")
        if option in new_names:
            complain(f"{option} is called {new_names[option]} now; the old name will be removed in the next version")
        yield f"{new_names.get(option, option)}{equals}{value}"
    yield from arguments[behind:]
