"""The object file of one compiled kernel, which needs nothing of numba to run."""

from typing import Any, Final, NamedTuple

from llvmlite import binding
from numba import typeof, types
from numba.core.compiler_lock import global_compiler_lock

from epoch.compiling.calling_convention import parameters
from epoch.compiling.linker import UNREACHABLE

_FREES: Final = "NRT_MemInfo_call_dtor"
"""What numba calls where nobody refers any more to memory that it counts references to."""
_OF_THE_C_LIBRARY: Final = {"memcpy", "memmove", "memset"}


class ObjectCode(NamedTuple):
    """An object file, and what one must know to call the function in it."""

    symbol: str
    results: int
    """How many ints it returns; 0 for a bool."""
    content: bytes


def object_code(kernel: Any, arguments: tuple[Any, ...], host: tuple[str, str, str]) -> ObjectCode | None:
    """Compile a kernel for arguments of these types.

    None where it cannot run alone: it needs memory from numba, takes or returns something else, or is not for `host`.
    """
    argument_types = tuple(map(typeof, arguments))
    kernel.compile(argument_types)
    compiled = kernel.overloads[argument_types]
    codegen, symbol = compiled.library.codegen, compiled.fndesc.llvm_func_name
    results = _results(compiled.signature.return_type)
    if results is None or codegen.magic_tuple() != host:
        return None
    with global_compiler_lock:
        machine = codegen._tm  # noqa: SLF001  numba's name
        module = _alone(compiled.library._get_module_for_linking(), symbol, machine)  # noqa: SLF001  as above
        taken = [str(each.type) for each in module.get_function(symbol).arguments]
        # Before the arguments stand where it returns to, and where it tells what it raises.
        expected = ["ptr", "ptr", *(each.llvm for each in parameters(arguments))]
        if taken != expected or not _is_self_contained(module):
            return None
        return ObjectCode(symbol, results, machine.emit_object(module))


def _results(returned: Any) -> int | None:
    if returned == types.boolean:
        return 0
    if returned == types.int64:
        return 1
    if isinstance(returned, types.UniTuple) and returned.dtype == types.int64:
        return int(returned.count)
    return None


def _alone(library: Any, symbol: str, machine: Any) -> Any:
    """Copy of a library only a function and what it calls."""
    module = library.clone()
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == symbol else "internal"
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=0)))
    return module


def _is_self_contained(module: Any) -> bool:
    """Whether all is there that it refers to. What is called for no array of a caller's gets a name of its own."""
    called = [function for function in module.functions if function.is_declaration]
    for function in called:
        if function.name == _FREES:
            function.name = UNREACHABLE
    known = _OF_THE_C_LIBRARY | {UNREACHABLE}
    if not all(function.name in known or function.name.startswith("llvm.") for function in called):
        return False
    return not any(variable.is_declaration for variable in module.global_variables)
