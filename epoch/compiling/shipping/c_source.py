"""The source in C of what stands around kernels: functions that Python calls as those of an extension module.

Each takes buffers and numbers, calls the kernel without the GIL unless that is to keep it, and returns what it
returned, or raises what it raised. Of Python only the stable interface is used, so that one file serves all.
"""

from collections.abc import Iterable
from typing import Final

from epoch.compiling.shipped_code import TABLE
from epoch.compiling.shipping.overload import Overload, Value

_BEFORE: Final = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

long syscall(long, ...);

/* Not every C library has it. An offset of 64 bits is one argument. */
long preadv2(int descriptor, const void *pieces, int count, long position, int flags) {
    return syscall(SYS_preadv2, descriptor, pieces, count, position, 0, flags);
}

/* What a kernel raised: a message with its size, and where the class is. */
struct failure { const char *message; int32_t size; PyObject **kind; };

static void fail(const struct failure *failure, int status) {
    if (failure)
        PyErr_SetString(*failure->kind, failure->message);
    else
        PyErr_Format(PyExc_SystemError, "a kernel ended with status %d", status);
}

static int take(PyObject *given, Py_buffer *view, const char *letters, Py_ssize_t size, int written, int number) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0);
    if (!PyObject_GetBuffer(given, view, flags)) {
        const char *kind = view->format ? view->format : "B";
        if (view->ndim == 1 && view->itemsize == size && *kind && !kind[1] && strchr(letters, *kind))
            return 1;
        PyBuffer_Release(view);
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "argument %d is not a contiguous array of type '%s' with %d bytes an element%s",
                 number, letters, (int)size, written ? ", which may be written" : "");
    return 0;
}

static PyObject *miscounted(Py_ssize_t count, int expected) {
    return PyErr_Format(PyExc_TypeError, "%d arguments are taken, not %zd", expected, count);
}
"""
_FUNCTION: Final = """
extern int {symbol}({types});

static PyObject *around_{symbol}(PyObject *self, PyObject *const *given, Py_ssize_t count) {{
    Py_buffer views[{views}];
    int taken = 0, status;
    struct {{ {fields} }} returned;
    struct failure *failure = 0;
    PyObject *made = 0;
    {numbers}
    if (count != {count}) return miscounted(count, {count});
    {conversions}
    {call}
    /* Minus two is None. */
    if (status == 0 || status == -2) made = Py_BuildValue({made});
    else fail(failure, status);
done:
    while (taken) PyBuffer_Release(views + --taken);
    return made;
}}
"""
_TABLE: Final = """
__attribute__((visibility("default"))) PyMethodDef {table}[] = {{
{rows}
    {{0, 0, 0, 0}},
}};
"""
_CONVERSIONS: Final = {"L": "PyLong_AsLongLong", "K": "PyLong_AsUnsignedLongLongMask", "p": "PyObject_IsTrue"}
_ARRAY: Final = "void *, void *, long long, long long, void *, long long, long long"
"""Who counts references to its memory, Python's object, elements, bytes of each, address, shape, stride."""


def source(overloads: Iterable[Overload]) -> str:
    """Write the functions, and the table of them by which they are found."""
    overloads = list(overloads)
    rows = "\n".join(
        f'    {{"{each.name}", (PyCFunction)around_{each.symbol}, METH_FASTCALL, "{_kinds(each.taken)}"}},'
        for each in overloads
    )
    return _BEFORE + "".join(map(_function, overloads)) + _TABLE.format(table=TABLE, rows=rows)


def _kinds(taken: Iterable[Value]) -> str:
    """Describe what a kernel takes, as `shipped_code.takes` reads it."""
    return " ".join(f"{each.size}:{each.letters}" if each.size else each.letters for each in taken)


def _function(overload: Overload) -> str:
    conversions, passed, views = [], ["&returned", "&failure"], 0
    for at, each in enumerate(overload.taken):
        if each.size:
            wanted = f'"{each.letters}", {each.size}, {each.is_written:d}'
            conversions.append(f"if (!take(given[{at}], views + {views}, {wanted}, {at + 1})) goto done;")
            conversions.append("taken++;")
            count, view = f"views[{views}].len / {each.size}", f"views[{views}].buf"
            passed.append(f"0, 0, {count}, {each.size}, {view}, {count}, {each.size}")
            views += 1
        else:
            conversions.append(f"n{at} = {_CONVERSIONS[each.letters]}(given[{at}]);")
            conversions.append(f"if (n{at} == ({each.ctype})-1 && PyErr_Occurred()) goto done;")
            passed.append(f"n{at}")
    call = f"status = {overload.symbol}({', '.join(passed)});"
    if not overload.keeps_gil:
        call = f"Py_BEGIN_ALLOW_THREADS\n    {call}\n    Py_END_ALLOW_THREADS"
    return _FUNCTION.format(
        symbol=overload.symbol,
        types=", ".join(["void *", "void *", *(_ARRAY if each.size else each.ctype for each in overload.taken)]),
        views=max(views, 1),
        fields=" ".join(f"{each.ctype} r{at};" for at, each in enumerate(overload.returned)) or "void *nothing;",
        numbers=" ".join(f"{each.ctype} n{at};" for at, each in enumerate(overload.taken) if not each.size),
        count=len(overload.taken),
        conversions="\n    ".join(conversions),
        call=call,
        made=_made(overload),
    )


def _made(overload: Overload) -> str:
    letters = "".join(each.letters for each in overload.returned)
    values = [
        f"PyBool_FromLong(returned.r{at})" if each.letters == "N" else f"returned.r{at}"
        for at, each in enumerate(overload.returned)
    ]
    return ", ".join([f'"({letters})"' if overload.is_tuple else f'"{letters}"', *values])
