"""Whether `epoch`, `logstore` and `replication` are the ones that belong together.

Other distributions have packages of these names, and pip installs one over the other without a warning. Each of the
three has this same file, as none can rely on another one's, and so has `epochlog`, which starts the command; a test
sees that they stay alike.
"""

import sys
from typing import TYPE_CHECKING, Final
from warnings import warn

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

NAMES: Final = ("epoch", "logstore", "replication")
"""From the bottom up: each needs those before it."""
_HEAD: Final = 1 << 14
"""The mark stands near the start of an `__init__.py`."""


def ensure_together(name: str, distribution: str) -> None:
    """See that the other packages are of the same distribution and version as `name`, as far as they are there.

    `distribution` stands in each of them, as `__distribution__ = "epochlog 0.2.0"`. It is looked for in the source:
    so nothing is imported for it, and nothing has to be installed. Raises ImportError where `name` needs the other
    package, or where that was overwritten beside it, and names the distribution to remove. Otherwise it only warns: a
    program may have a package of that name for itself.
    """
    home = _home(sys.modules[name].__file__ or "")
    needed = NAMES[: NAMES.index(name)] if name in NAMES else NAMES
    for other in NAMES:
        if other == name or getattr(sys.modules.get(other), "__distribution__", None) == distribution:
            continue
        spec = _found(other)
        if spec is None or _says(spec, distribution):
            continue
        if other in needed or _home(_file(spec)) == home:
            raise ImportError(_message(name, other, distribution, spec), name=other, path=spec.origin)
        if spec.origin is not None:
            warn(_message(name, other, distribution, spec), RuntimeWarning, stacklevel=3)


def _found(name: str) -> "ModuleSpec | None":
    """Find what would be imported, as importlib.util.find_spec does, which costs a millisecond to import."""
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None)
        if spec is not None:
            return spec
    return None


def _file(spec: "ModuleSpec") -> str:
    """Return the path of a package's `__init__.py`, which may be missing."""
    directories = [*(spec.submodule_search_locations or ()), ""]
    return spec.origin or f"{directories[0]}/__init__.py"


def _home(file: str) -> str:
    """Return where a package or module lies; to load pathlib would cost more than all of this."""
    return file.rsplit("/", 2 if file.endswith("/__init__.py") else 1)[0]


def _says(spec: "ModuleSpec", distribution: str) -> bool:
    """Whether the source says that it is of this distribution; unknown where there is no source to be read."""
    if spec.origin is None:
        return False  # a directory without an `__init__.py`
    if not spec.origin.endswith(".py"):
        return True
    try:
        source = spec.loader.get_data(spec.origin)  # type: ignore[union-attr]  # not all loaders have it
    except (AttributeError, OSError):
        return True
    return f'\n__distribution__ = "{distribution}"\n'.encode() in source[:_HEAD].replace(b"\r\n", b"\n")


def _message(name: str, other: str, distribution: str, spec: "ModuleSpec") -> str:
    file = _file(spec)
    owners = _owners(file)
    others = sorted(set(owners) - {distribution})
    steps = [f"pip uninstall {owner.split()[0]}" for owner in others]
    if owners:
        steps.append(f"pip install --force-reinstall '{distribution.replace(' ', '==')}'")
    else:
        steps.append(f"rename it, or take {_home(file)} off sys.path")
    whose = f"was installed by {', '.join(others)}" if others else "is missing" if owners else "is not installed"
    return f"{name} is of {distribution}, and {other} is not: {file} {whose}; {'; '.join(steps)}"


def _owners(path: str) -> list[str]:
    """Return the installed distributions that have a file, with their versions: slow, and only for a message."""
    from importlib.metadata import distributions  # noqa: PLC0415 - it costs more to import than all else here
    from pathlib import Path  # noqa: PLC0415

    file = Path(path).resolve()
    return [
        f"{each.name} {each.version}"
        for each in distributions()
        for listed in each.files or ()
        if listed.parts[-2:] == file.parts[-2:] and Path(str(each.locate_file(listed))).resolve() == file
    ]
