"""Small faults put into a source, one at a time: a bound that is one off, a condition turned round, a line left out.

Only what runs in functions is changed, and no message: what an error says is read by people, and told by its own tests.
"""

import ast
import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, NamedTuple
from zlib import crc32

PROJECT: Final = Path(__file__).parents[2]
COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES: Final = {"bisect_left": "bisect_right", "min": "max", "any": "all"}
OTHER_NAMES: Final = NAMES | {other: name for name, other in NAMES.items()}
UNTOUCHED: Final = (ast.JoinedStr, ast.arguments, ast.pattern)
LONG: Final = 160
"""Two lines of more characters are named by what differs,"""
NEAR: Final = 24
"""with so many characters on either side."""
COMPILED: Final = {"kernel", "brief_kernel", "inlined"}
"""Machine code by now: the kernels have plain twins, and tests that run on both."""


class Place(NamedTuple):
    """Where a node hangs in the tree."""

    parent: ast.AST
    field: str
    number: int | None
    """Which one of the field, where it is a list."""
    statement: ast.stmt
    """The innermost statement that it belongs to."""

    def put(self, node: ast.AST) -> None:
        """Hang another node there."""
        if self.number is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.number] = node


@dataclass(frozen=True)
class Mutant:
    """One fault in one function."""

    file: str
    line: int
    function: str
    """The outermost one, by its qualified name."""
    before: str
    after: str
    code: CodeType
    """The function with the fault."""

    @property
    def name(self) -> str:
        """Name it, whatever line it is on."""
        before, after = _around_difference(self.before, self.after)
        return f"{self.file} {self.function}: {before} -> {after}"

    def is_of(self, day: int, shares: int) -> bool:
        """Whether it belongs to the share of a day."""
        return crc32(self.name.encode()) % shares == day % shares


def mutants(file: str) -> Iterator[Mutant]:
    """Give every mutant of a source of the project."""
    path = PROJECT / file
    tree = ast.parse(path.read_text())
    for name, function in _functions(tree, ""):
        for place, node in _places(function, function):
            for other in _alternatives(node):
                ast.fix_missing_locations(ast.copy_location(other, node))
                before = _first_line(place.statement)
                place.put(other)
                after = _first_line(other if node is place.statement else place.statement)
                module = compile(tree, str(path), "exec")
                place.put(node)
                (code,) = _codes(module, name, function)
                yield Mutant(file, place.statement.lineno, name, before, after, code)


def marked(file: str, flags: str, first: int) -> Iterator[tuple[str, CodeType]]:
    """Give every function that gets mutants, with a statement before all others that sets its flag, and no fault.

    The flags are numbered in this order, from `first` on.
    """
    path = PROJECT / file
    tree = ast.parse(path.read_text())
    functions = list(_functions(tree, ""))
    for number, (_, function) in enumerate(functions, first):
        (mark,) = ast.parse(f"{flags}[{number}] = 1").body
        for node in ast.walk(mark):
            ast.copy_location(node, function)
        function.body.insert(0, mark)
    module = compile(tree, str(path), "exec")
    for name, function in functions:
        (code,) = _codes(module, name, function)
        yield name, code


def put_in_place(file: str, codes: Iterable[CodeType]) -> None:
    """Give functions of a source other code, wherever they were imported to, and however decorated."""
    import_module(file.removesuffix(".py").replace("/", "."))
    path = str(PROJECT / file)
    others = {(path, code.co_qualname, code.co_firstlineno): code for code in codes}
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        old = function.__code__
        function.__code__ = others.get((old.co_filename, old.co_qualname, old.co_firstlineno), old)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and not COMPILED & {ast.unparse(each) for each in child.decorator_list}:
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _places(node: ast.AST, statement: ast.stmt) -> Iterator[tuple[Place, ast.AST]]:
    """Walk over what may be changed below a node."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "exc"}:
            continue
        listed = isinstance(value, list)
        for index, child in enumerate(value if listed else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, UNTOUCHED) or _is_assertion(child):
                continue
            inner = child if isinstance(child, ast.stmt) else statement
            yield Place(node, field, index if listed else None, inner), child
            yield from _places(child, inner)


def _alternatives(node: ast.AST) -> Iterator[ast.AST]:
    """Say what may stand in a node's place."""
    match node:
        case ast.Compare(left, [operator], right):
            yield from (ast.Compare(left, [other()], right) for other in COMPARISONS[type(operator)])
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
        case ast.Name(name, context) if name in OTHER_NAMES:
            yield ast.Name(OTHER_NAMES[name], context)
        case ast.If(test, body, orelse) if _is_plain(test):
            yield ast.If(_negated(test), body, orelse)
        case ast.IfExp(test, body, orelse) if _is_plain(test):
            yield ast.IfExp(_negated(test), body, orelse)
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def _is_assertion(node: ast.AST) -> bool:
    """Whether a fault there could only keep quiet about another: `strict=True` of what is as long as each other."""
    return isinstance(node, ast.keyword) and ast.unparse(node) == "strict=True"


def _is_plain(test: ast.expr) -> bool:
    """Whether nothing else turns this condition round."""
    return not isinstance(test, ast.Compare | ast.UnaryOp)


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def _around_difference(before: str, after: str) -> tuple[str, str]:
    """Leave out of two long lines what is far from where they differ."""
    if len(before) + len(after) <= LONG:
        return before, after
    same = _shared(before, after)
    same_end = _shared(before[:same:-1], after[:same:-1])
    return _middle(before, same, len(before) - same_end), _middle(after, same, len(after) - same_end)


def _shared(one: str, other: str) -> int:
    """Count the characters with which both begin."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _middle(line: str, start: int, end: int) -> str:
    first, last = max(0, start - NEAR), min(len(line), end + NEAR)
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''}"


def _codes(code: CodeType, name: str, function: ast.FunctionDef) -> Iterator[CodeType]:
    """Find a function in what was compiled, among others of its name such as a property's setter."""
    first = min(function.lineno, *(each.lineno for each in function.decorator_list), function.lineno)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_qualname == name and inner.co_firstlineno == first:
                yield inner
            yield from _codes(inner, name, function)
