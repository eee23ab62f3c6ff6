"""One JSON object around an array that may be too long to be kept: it is printed as its elements come."""

import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping

from replication.base.json_object import SCHEMA_VERSION
from replication.cli.output.failure import ReportedError, error_as_json
from replication.cli.output.printing import OutputError, json_text


def print_json_array(
    name: str, elements: Iterable[Mapping[str, object]], rest: Callable[[], Mapping[str, object]]
) -> None:
    """Print an object: the array `name`, then what `rest` gives once all elements are printed, then `error`.

    The object is whole whatever ends it. An error of `elements` is its last member, and ReportedError is raised.
    """
    sys.stdout.write(f'{{\n  "schema_version": {SCHEMA_VERSION},\n  "{name}": [')
    before = "\n"
    try:
        for element in elements:
            sys.stdout.write(before + textwrap.indent(json_text(element, indent=2), "    "))
            before = ",\n"
    except OutputError:
        raise
    except BaseException as error:
        _end(before, {**rest(), "error": error_as_json(error)})
        if isinstance(error, Exception):
            raise ReportedError from error
        raise
    _end(before, {**rest(), "error": None})


def _end(before: str, members: Mapping[str, object]) -> None:
    closed = "]" if before == "\n" else "\n  ]"
    sys.stdout.write(f"{closed},\n{json_text(members, indent=2).removeprefix('{').removeprefix(chr(10))}\n")
