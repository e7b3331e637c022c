"""Small mistakes: every mutant of a module's text."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
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
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
PAIRS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("triu", "tril"),
)
NAMES = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
TEXT = {"__repr__", "__str__", "_repr_html_"}
WARNING = {"warn", "Remark"}
GUARDS = {"strict", "check_finite"}  # of zip and of SciPy: assertions in other words


@dataclass(frozen=True)
class Mutant:
    """One change to one module."""

    module: str
    line: int
    lines: range
    at_import: bool
    was: str
    becomes: str
    start: int
    end: int
    number: int = 0

    @property
    def name(self) -> str:
        """What to call it by: module, line and its number on that line."""
        return f"{self.module}:{self.line}:{self.number}"

    def of(self, source: bytes) -> bytes:
        """The module's text with the change."""
        return source[: self.start] + self.becomes.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.name}  {' '.join(self.was.split())}  →  {' '.join(self.becomes.split())}"


def mutants_of(module: str, source: bytes) -> list[Mutant]:
    """Every mutant of the module, in the order of its lines."""
    found = sorted(_Finder(module, source).found, key=lambda mutant: (mutant.line, mutant.start))
    counts: dict[int, int] = {}
    numbered = []
    for mutant in found:
        number = counts[mutant.line] = counts.get(mutant.line, 0) + 1
        numbered.append(Mutant(**{**mutant.__dict__, "number": number}))
    return numbered


class _Finder(ast.NodeVisitor):
    """Walks over what computes, and past names, types, messages and texts."""

    def __init__(self, module: str, source: bytes) -> None:
        self.module, self.source, self.found = module, source, list[Mutant]()
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.depth = 0
        self.visit(ast.parse(source))

    def add(self, node: ast.AST, becomes: str) -> None:
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        lines = range(node.lineno, node.end_lineno + 1)
        was = self.source[start:end].decode()
        self.found.append(Mutant(self.module, node.lineno, lines, self.depth == 0, was, becomes, start, end))

    def replace(self, node: ast.expr, other: ast.expr) -> None:
        self.add(node, f"({ast.unparse(other)})")

    # What is passed over.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        if node.name in TEXT:
            return
        self.depth += 1
        for statement in node.body:
            self.visit(statement)
        self.depth -= 1

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in GUARDS:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    # What is changed.

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom):
            self.add(node, "pass")
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self.add(node, "pass")
        if not _is_text(node.value):
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if _is_text(node.value):
            return
        self.add(node, "pass")
        if type(node.op) in ARITHMETIC:
            other = copy.copy(node)
            other.op = ARITHMETIC[type(node.op)]()
            self.add(node, ast.unparse(other))
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.add(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.add(node, "break")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None or _is_text(node.value):
            return
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.add(node, "return None")
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            self.replace(test, ast.UnaryOp(ast.Not(), test))

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                self.replace(node, ast.Compare(node.left, ops, node.comparators))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self.replace(node, ast.BoolOp(other, node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            self.replace(node, node.operand)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if _is_text(node):
            return
        if type(node.op) in ARITHMETIC:
            self.replace(node, ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add(node, str(not value))
        elif isinstance(value, int):
            self.add(node, str(value + 1))
        elif isinstance(value, float):
            self.add(node, repr(value * 2 if value else 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in WARNING:
            return
        if name in NAMES:
            other = copy.deepcopy(node)
            if isinstance(other.func, ast.Attribute):
                other.func.attr = NAMES[name]
            else:
                other.func = ast.Name(NAMES[name])
            self.replace(node, other)
        elif name == "abs" and len(node.args) == 1:
            self.replace(node, node.args[0])
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            if isinstance(part, ast.Slice):
                self._bounds(part)
        self.generic_visit(node)

    def _bounds(self, node: ast.Slice) -> None:
        one = ast.Constant(1)
        if node.lower is not None and not isinstance(node.lower, ast.Constant):
            self.add(node, ast.unparse(ast.Slice(ast.BinOp(node.lower, ast.Add(), one), node.upper, node.step)))
        if node.upper is not None and not isinstance(node.upper, ast.Constant):
            self.add(node, ast.unparse(ast.Slice(node.lower, ast.BinOp(node.upper, ast.Sub(), one), node.step)))


def _is_text(node: ast.expr) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in _sides(node)
    )


def _sides(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _sides(node.left)
        yield from _sides(node.right)
    else:
        yield node
