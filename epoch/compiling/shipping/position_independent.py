"""The code of kernels emitted once more, such that it may lie anywhere and needs nothing of numba."""

import pickle
import re
from collections.abc import Iterable
from typing import Any, Final

from llvmlite import binding

from epoch.compiling.shipping.overload import Overload

KNOWN: Final = frozenset({"memcpy", "memmove", "memset", "write", "preadv2"})
"""What machine code may call: the C library, and what `c_source` defines."""
_RAISED: Final = re.compile(
    r"(?P<name>@\.const\.picklebuf\.\S+) = internal constant (?P<type>\{[^}]*\}) "
    r"\{ ptr (?P<data>@\S+), i32 \d+, ptr @\S+, ptr null, i32 0 \}"
)
"""What numba keeps of a `raise` whose exception is known: where its pickled class and arguments are, and how long."""
_COUNTING: Final = re.compile(
    r"^define [^@\n]*(?P<name>@NRT_(?:inc|dec)ref(?:\.\d+)?)\(.*?^\}\n", re.MULTILINE | re.DOTALL
)
"""How numba counts references to memory. All that there is belongs to callers, who hold it."""
_NOT_COUNTING: Final = r"define internal void \g<name>(ptr %memory) alwaysinline {\n  ret void\n}\n"
_ESCAPED: Final = re.compile(rb"\\(\\|[0-9A-F]{2})")


class NotShippableError(RuntimeError):
    """A kernel's code needs what is not there without numba."""


def emit(overloads: Iterable[Overload], triple: str, processor: str, features: str) -> bytes:
    """Return the object file of all, for processors by LLVM's names. Raises NotShippableError."""
    overloads = list(overloads)
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(triple).create_target_machine(
        processor, features, opt=3, reloc="pic", codemodel="small"
    )
    kernels = {overload.symbol for overload in overloads}
    merged = binding.parse_assembly("")
    merged.triple, merged.data_layout = triple, str(target.target_data)
    for overload in overloads:
        merged.link_in(_linkable(overload, kernels, merged))
    module = binding.parse_assembly(_COUNTING.sub(_NOT_COUNTING, _with_messages(str(merged))))
    for value in (*module.functions, *module.global_variables):
        if value.name in kernels:
            value.linkage, value.visibility = "external", "hidden"
        elif not value.is_declaration:
            value.linkage = "internal"
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, binding.create_pass_builder(target, binding.create_pipeline_tuning_options(speed_level=0)))
    _ensure_self_contained(module)
    emitted: bytes = target.emit_object(module)
    return emitted


def _linkable(overload: Overload, kernels: set[str], merged: Any) -> Any:
    """Copy of a kernel's library what may be linked with others, of which each has the same helpers."""
    module = overload.library._get_module_for_linking().clone()  # noqa: SLF001  numba's name
    module.triple, module.data_layout = merged.triple, merged.data_layout
    expected = ["ptr", "ptr"]  # where it returns to, and where it tells what it raises
    for each in overload.taken:
        number = "i8" if each.letters == "p" else "i64"
        expected += ["ptr", "ptr", "i64", "i64", "ptr", "i64", "i64"] if each.size else [number]
    if [str(each.type) for each in module.get_function(overload.symbol).arguments] != expected:
        raise NotShippableError(f"{overload.name} takes its arguments in another way than {' '.join(expected)}")
    for each in module.functions:
        if not each.is_declaration:
            each.linkage = "weak_odr" if each.name in kernels else "linkonce_odr"
    return module


def _with_messages(text: str) -> str:
    """Put messages in the place of pickled exceptions, and a reference to the class beside each: `failure` in C."""
    kinds = set()

    def message(match: re.Match[str]) -> str:
        found = re.search(rf'^{re.escape(match["data"])} = .*? c"(.*)"', text, re.MULTILINE)
        kind, arguments, _ = pickle.loads(unescaped(found[1] if found else ""))  # noqa: S301  numba wrote it
        if kind.__module__ != "builtins" or not all(isinstance(each, str) for each in arguments or ()):
            raise NotShippableError(f"{kind.__name__}{arguments} is not known without numba")
        kinds.add(kind.__name__)
        shown = "".join(arguments or ()).encode() + b"\0"
        return (
            f'{match["name"]}.message = internal constant [{len(shown)} x i8] c"{escaped(shown)}"\n'
            f"{match['name']} = internal constant {match['type']} "
            f"{{ ptr {match['name']}.message, i32 {len(shown)}, ptr @PyExc_{kind.__name__}, ptr null, i32 0 }}"
        )

    text = _RAISED.sub(message, text)
    return text + "".join(f"@PyExc_{kind} = external global ptr\n" for kind in sorted(kinds))


def unescaped(text: str) -> bytes:
    """Return the bytes of a string as LLVM writes it."""
    return _ESCAPED.sub(_byte, text.encode())


def _byte(match: re.Match[bytes]) -> bytes:
    return match[1] if match[1] == b"\\" else bytes([int(match[1], 16)])


def escaped(data: bytes) -> str:
    """Return a string that LLVM reads as these bytes."""
    return "".join(f"\\{each:02X}" for each in data)


def _ensure_self_contained(module: Any) -> None:
    """See that all is there that it refers to: code that was made while a process runs may need more of numba."""
    named = {each.name for each in (*module.functions, *module.global_variables) if each.is_declaration}
    missing = [name for name in sorted(named - KNOWN) if not name.startswith(("llvm.", "PyExc_"))]
    if missing:
        raise NotShippableError(f"the kernels need {', '.join(missing)}, which only numba has")
