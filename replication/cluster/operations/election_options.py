"""The options of `kafka-leader-election`, with all checks (Kafka: LeaderElectionCommandOptions)."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from replication.base.int32 import parse_int32
from replication.cluster.operations.tool_error import ToolError
from replication.cluster.operations.tool_options import ToolOptions

if TYPE_CHECKING:
    from replication.wire.messages.elect_leaders import ElectionType

BOOTSTRAP: Final = "bootstrap-server"
OUR_BOOTSTRAP: Final = "bootstrap"
"""The short name, as in the other commands."""
ELECTION_TYPE: Final = "election-type"
TOPIC: Final = "topic"
PARTITION: Final = "partition"
ALL: Final = "all-topic-partitions"
JSON_FILE: Final = "path-to-json-file"
COMMAND_CONFIG: Final = "command-config"
ADMIN_CONFIG: Final = "admin.config"
LOG_DIR: Final = "log-dir"
DRY_RUN: Final = "dry-run"
AS_JSON: Final = "json"
HELP: Final = "help"
VERSION: Final = "version"

VALUED: Final = frozenset(
    {BOOTSTRAP, OUR_BOOTSTRAP, ELECTION_TYPE, TOPIC, PARTITION, JSON_FILE, COMMAND_CONFIG, ADMIN_CONFIG, LOG_DIR}
)
FLAGS: Final = frozenset({ALL, HELP, VERSION, DRY_RUN, AS_JSON})

SEE_HELP: Final = "`epochlog elect --help` shows all options"
_CHOICES: Final = (TOPIC, ALL, JSON_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions:
    """Which elections to hold, and where."""

    bootstrap: str
    election_type: "ElectionType"
    topic: str | None
    partition: int | None
    path_to_json_file: Path | None
    all_topic_partitions: bool
    command_config: Path | None
    admin_config: Path | None
    """The same under its old name."""
    dry_run: bool
    log_dir: tuple[str, ...]
    json: bool

    @classmethod
    def of(cls, options: ToolOptions) -> "ElectionOptions":
        """Parse the arguments. Raises ToolError; of several faults, for the one that Kafka's tool finds first."""
        _refuse_incomplete(options)
        _refuse_two_configurations(options)
        _refuse_unclear_choice(options)
        election_type = options.value(ELECTION_TYPE, _election_type)
        assert election_type is not None  # noqa: S101 - it is among what may not be missing
        return cls(
            election_type=election_type,
            path_to_json_file=options.value(JSON_FILE, Path),
            topic=options.value(TOPIC, _topic),
            partition=options.value(PARTITION, _partition),
            all_topic_partitions=ALL in options,
            admin_config=options.value(ADMIN_CONFIG, Path),
            command_config=options.value(COMMAND_CONFIG, Path),
            bootstrap=options.value(BOOTSTRAP, str) or options.value(OUR_BOOTSTRAP, str) or "",
            dry_run=DRY_RUN in options,
            log_dir=options.values(LOG_DIR),
            json=AS_JSON in options,
        )


def _refuse_incomplete(options: ToolOptions) -> None:
    has_bootstrap = BOOTSTRAP in options or OUR_BOOTSTRAP in options
    missing = [] if has_bootstrap else [BOOTSTRAP]
    missing += [] if ELECTION_TYPE in options else [ELECTION_TYPE]
    if missing:
        raise ToolError(f"Missing required option(s): {', '.join(missing)}")


def _refuse_two_configurations(options: ToolOptions) -> None:
    if ADMIN_CONFIG in options and COMMAND_CONFIG in options:
        raise ToolError(f'Option "[{ADMIN_CONFIG}]" can\'t be used with option "[{COMMAND_CONFIG}]"', SEE_HELP)


def _refuse_unclear_choice(options: ToolOptions) -> None:
    if sum(name in options for name in _CHOICES) != 1:
        raise ToolError(f"One and only one of the following options is required: {', '.join(_CHOICES)}")
    if TOPIC in options and PARTITION not in options:
        raise ToolError(f"Missing required option(s): {PARTITION}")
    if PARTITION in options and TOPIC not in options:
        raise ToolError(f"Option {PARTITION} is only allowed if {TOPIC} is used")
    if LOG_DIR in options and DRY_RUN not in options:
        raise ToolError(f"Option {LOG_DIR} is only allowed if {DRY_RUN} is used")


def _election_type(text: str) -> "ElectionType":
    from replication.wire.messages.elect_leaders import ElectionType  # noqa: PLC0415 - slow, and not for help

    known = {each.name: each for each in ElectionType}
    if text.upper() not in known:
        raise _unparsable(ELECTION_TYPE, text)
    return known[text.upper()]


def _topic(text: str) -> str:
    """Return a name that can be sent: bytes that are not UTF-8 are replaced, as in Java."""
    return os.fsencode(text).decode(errors="replace")


def _partition(text: str) -> int:
    number = parse_int32(text)
    if number is None:
        raise _unparsable(PARTITION, text)
    return number


def _unparsable(name: str, text: str) -> ToolError:
    return ToolError(f"Cannot parse argument '{text}' of option {name}")
