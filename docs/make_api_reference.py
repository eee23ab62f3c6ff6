"""Writes docs/api.md from what the packages offer: `python docs/make_api_reference.py`."""  # noqa: INP001  a script

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

PAGE = Path(__file__).parent / "api.md"
MODULES: Final = {
    "epoch": "Who led when, and what a follower truncates.",
    "epoch.bulk": "The same for many partitions at once. Importing it loads numba.",
    "logstore": "Kafka's files on disk. Each name loads its module on first use.",
    "logstore.queue": "A durable work queue, for several processes.",
    "logstore.verify": "Every file of a replica against every other.",
    "replication": "Following leaders over Kafka's protocol.",
    "replication.authorization": "Who may do what. Each name loads its module on first use.",
    "replication.broker": "A broker's registration, heartbeats and metadata.",
    "replication.planning": "What replicas would truncate, and who should lead.",
    "replication.quorum_recovery": "Which copy of the controllers' metadata to restore from.",
    "replication.node": "One broker, wherever its controller is. Each name loads its module on first use.",
    "replication.operations": "Running clusters and their elections. Each name loads its module on first use.",
    "replication.repair": "A damaged copy healed from other replicas. Each name loads its module on first use.",
    "replication.explain": "Why an offset is not there. Each name loads its module on first use.",
    "replication.salvage": "What losing copies hold and the kept one lacks. Each name loads its module on first use.",
    "replication.serving": "Copies of brokers, read by Kafka clients. Each name loads its module on first use.",
    "replication.standalone": "A broker that is its own controller. Each name loads its module on first use.",
    "replication.testing": "Clusters to test clients against. Each name loads its module on first use.",
    "replication.testing.history": "What clients of any cluster saw, and what is wrong with it.",
    "replication.transactions": "Hanging transactions, and broken ones. Each name loads its module on first use.",
    "replication.audit": "Whether copies of partitions agree. What needs Spark loads it on first use.",
}
WITHOUT_ALL: Final = {"epoch.bulk": ("EndOffsets", "EpochTable")}
"""The public names of modules that have no `__all__`."""
WITHOUT_DOCSTRING: Final = {
    "UNDEFINED_END_OFFSET": "The answer of a leader that does not know the requested epoch: -1, -1.",
    "UNDEFINED_EPOCH": "No epoch is known: -1.",
    "UNDEFINED_EPOCH_OFFSET": "No end offset is known: -1.",
    "CLIENT": "Who produces to a simulated cluster, among its nodes: -2.",
    "CONTROLLER": "The controller, among the nodes of a cluster for tests: -1.",
    "NOT_PROMISED": "The kinds of anomalies that a sound Kafka may show.",
    "Outcome": "Whether an operation took effect: ok, failed where it surely did not, or unknown.",
    "Batch": "A batch of any magic: `RecordBatch` or `LegacyBatch`.",
}
HEAD = """\
# API

*For programmers in Python. Needs [the library](getting-started.md#install), or what a name says it lacks.*

This page is made from the docstrings by `docs/make_api_reference.py`. Do not edit it by hand.

These names are public, and `help(name)` says more about each. Modules that are not listed, and names that begin with
an underscore, may change at any time. All packages carry type information.

Offsets, epochs and sizes are plain `int`. Timestamps are milliseconds since 1970 UTC. Errors are each package's own and
a fitting builtin too: `CorruptBatchError` is a `LogStoreError` and a `ValueError`. A missing or unreadable file is an
`OSError`.
"""


FUNCTIONS, CLASSES, CONSTANTS, ERRORS = "Functions", "Classes and values", "Constants", "Errors"
ORDER: Final = (FUNCTIONS, CLASSES, "", CONSTANTS, ERRORS)
"""Of groups; the empty one stands for those that are named after a package."""
SELF: Final = ("Self", "Log | ReadOnlyLog")
"""What class methods return that make objects."""
NO_TYPE: Final = inspect.Signature.empty
WIDTH: Final = 116
LONG_DEFAULT: Final = 30
OWN: Final = re.compile(r"\b(?:epoch|logstore|replication)\.[\w.]*?(\w+)(?![\w.])")


def public_names(module: str) -> tuple[str, ...]:
    """Return what a module offers, in alphabetical order without regard to case."""
    names = WITHOUT_ALL.get(module) or import_module(module).__all__
    return tuple(sorted(names, key=str.casefold))


def reference() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(_section(module, meaning) for module, meaning in MODULES.items())])


def _section(module: str, meaning: str) -> str:
    """Return what a module offers, in groups by what it is for."""
    groups: dict[str, list[str]] = {}
    for name in public_names(module):
        groups.setdefault(_purpose(module, name), []).append(name)
    ordered = sorted(groups, key=lambda purpose: (ORDER.index(purpose if purpose in ORDER else ""), purpose))
    return "\n".join([f"## `{module}`", "", meaning, "", *(_group(module, each, groups[each]) for each in ordered)])


def _purpose(module: str, name: str) -> str:
    """Return the group of a name: for the many names of `logstore` what the package is for that defines it."""
    value = getattr(import_module(module), name)
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ERRORS
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return CONSTANTS
    if module == "logstore":
        package = import_module(".".join(value.__module__.split(".")[:2]))
        return (inspect.getdoc(package) or "").split("\n")[0].rstrip(".")
    return FUNCTIONS if inspect.isfunction(value) else CLASSES


def _group(module: str, purpose: str, names: list[str]) -> str:
    rows = [f"| `{name}` | {_summary(module, name)} |" for name in names]
    calls = [call for name in names for call in _calls(name, getattr(import_module(module), name))]
    signatures = ["```text", *calls, "```", ""] if calls else []
    return "\n".join([f"**{purpose}**", "", "| name | |", "|---|---|", *rows, "", *signatures])


def _calls(name: str, value: Any) -> Iterator[str]:
    """Yield how a function is called, or a class: by its name, and by those of class methods that make objects of it.

    What takes something that is not public is not called by users.
    """
    if inspect.isfunction(value):
        yield _call(name, value)
    if not inspect.isclass(value) or issubclass(value, BaseException | Enum) or getattr(value, "_is_protocol", False):
        return
    if _is_made_by_users(value):
        yield _call(name, value)
    for maker in dir(value):
        member = inspect.getattr_static(value, maker)
        if isinstance(member, classmethod) and not maker.startswith("_") and _result(member.__func__) in SELF:
            yield _call(f"{name}.{maker}", getattr(value, maker))


def _signature(value: Any) -> inspect.Signature:
    """Return a signature with types in place of their names, which modules may import for type checkers alone."""
    named = inspect.unwrap(value.__func__ if inspect.ismethod(value) else value)
    made_by = getattr(named, "__init__", None) if inspect.isclass(named) else None
    module = getattr(made_by if inspect.isfunction(made_by) else named, "__module__", "")
    signature = inspect.signature(value)
    if module not in sys.modules or not hasattr(sys.modules[module], "annotations"):  # of `from __future__`
        return signature
    names = _names_of_types(module)
    parameters = [each.replace(annotation=_type(each.annotation, names)) for each in signature.parameters.values()]
    returned = _type(signature.return_annotation, names)
    return signature.replace(parameters=parameters, return_annotation=returned)


def _type(annotation: Any, names: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    with suppress(NameError, TypeError):  # of what type checkers alone have, or know to be generic
        return eval(annotation, names)  # noqa: S307  our own sources
    return annotation


@cache
def _names_of_types(module: str) -> dict[str, Any]:
    """Return all that a module has, and what it imports for type checkers."""
    names = dict(vars(import_module(module)))
    for each in ast.parse(inspect.getsource(import_module(module))).body:
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING":
            for statement in each.body:
                with suppress(ImportError):  # of what type checkers alone have
                    exec(ast.unparse(statement), names)  # noqa: S102  as above
    return names


def _is_made_by_users(value: Any) -> bool:
    """Whether it takes only what is public; what is built as Python's own types has no signature to be shown."""
    try:
        return _all_public().issuperset(OWN.findall(str(_signature(value))))
    except ValueError:
        return False


@cache
def _all_public() -> set[str]:
    return {name for module in MODULES for name in public_names(module)}


def _result(function: Any) -> str:
    return inspect.formatannotation(_signature(function).return_annotation).strip("'").rpartition(".")[2]


def _call(name: str, value: Any) -> str:
    """Return a signature, over as many lines as it needs, without the modules of types."""
    signature = _signature(value)
    shown = [each.replace(default=_Shown.of(each.default)) for each in signature.parameters.values()]
    shown = [each.replace(annotation=NO_TYPE) if each.kind is each.VAR_KEYWORD else each for each in shown]
    returned = NO_TYPE if inspect.isclass(value) else signature.return_annotation
    text = str(signature.replace(parameters=shown, return_annotation=returned)).replace("~", "")
    text = re.sub(r"ForwardRef\('([^']*)'\)|(?<=: )'([^']*)'|(?<=-> )'([^']*)'", r"\1\2\3", text)
    text = re.sub(r"(?<![.\w'])(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", text)
    return textwrap.fill(
        f"{name}{text}", WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


class _Shown:
    """A default as a page shows it: three dots for what is long or has an address."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def of(cls, value: Any) -> Any:
        """Wrap what a parameter has as its default."""
        if value is inspect.Parameter.empty:
            return value
        text = f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)
        return cls("..." if len(text) > LONG_DEFAULT or text.startswith("<") else text)

    def __repr__(self) -> str:
        return self._text


def _summary(module: str, name: str) -> str:
    if name in WITHOUT_DOCSTRING:
        return WITHOUT_DOCSTRING[name]
    docstring = inspect.getdoc(getattr(import_module(module), name)) or ""
    return docstring.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(reference())
