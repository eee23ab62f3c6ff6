"""How commands fail: the errors that are theirs alone, and any error as JSON."""

import os
from collections.abc import Sequence
from typing import Any, Final

import typer

from replication.base.errors import ReplicationError
from replication.base.missing_package import package_of
from replication.cli.output.printing import EXIT_FAILED, print_json_line, told

UsageError: Final[type[Exception]] = typer.BadParameter.mro()[1]
"""What typer raises for wrong options and arguments: click's, or that of its own copy of click."""


class CommandError(ReplicationError, RuntimeError):
    """A command could not do its work, for a reason that only the command line knows."""


class MissingPackageError(CommandError, ImportError):
    """A command needs a package that the library core does without."""

    def __init__(self, what: str, error: ModuleNotFoundError, extra: str) -> None:
        """Create it with the start of the message, as "the mirror needs", and the extra that has the package."""
        extras = extra if extra == "cli" else f"cli,{extra}"
        advice = f"install the extra `{extra}`, in a checkout: pip install '.[{extras}]'"
        super().__init__(f"{what} {package_of(error)}: {advice}")


class ReportedError(Exception):
    """A command failed, as its cause says, after it had begun to print; what it printed ends with the error."""


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether arguments ask for JSON, even if they are wrong, so that no command has parsed them."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options or " --log-format json " in f" {' '.join(options).replace('=', ' ')} "


def print_failure(error: BaseException, status: int = EXIT_FAILED, *, message: str | None = None) -> None:
    """Print the one object that a command prints that failed; on one line, which will do for JSON lines too."""
    print_json_line({"exit_status": status, "error": error_as_json(error, message)})


def error_as_json(error: BaseException, message: str | None = None) -> dict[str, Any]:
    """Describe an error: its class, the same message as on standard error, and where it is as far as is known."""
    return {
        "class": _class_of(error),
        "message": message or told(error),
        "file": _file_of(error),
        "line": getattr(error, "line", None),
        "position": getattr(error, "position", None),
        "offset": getattr(error, "offset", None),
    }


def _class_of(error: BaseException) -> str:
    """Name the class, of wrong arguments always the same: typer has many for them, and other ones in each version."""
    return "UsageError" if hasattr(error, "format_message") else type(error).__name__


def _file_of(error: BaseException) -> str | None:
    for name in ("file", "path", "filename"):
        place = getattr(error, name, None)
        if isinstance(place, (str, bytes, os.PathLike)):
            return os.fsdecode(place)
    return None
