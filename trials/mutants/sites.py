# SPDX-License-Identifier: Apache-2.0
"""Where a text can be changed, and what it becomes: cosmic-ray's operators, less what no test could judge."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

Span = tuple[tuple[int, int], tuple[int, int]]  # (line, column) of the first character, and of the one behind

_PROVIDER = OperatorProvider()
# Those with arguments put random numbers and variables anywhere. `is` becomes `is not` and nothing else, and nothing
# else becomes `is`: that would judge which values Python keeps once.
_OPERATORS = {
    name: _PROVIDER[name]()
    for name in _PROVIDER
    if not _PROVIDER[name].arguments() and ("_Is" not in name or name.endswith(("_Is_IsNot", "_IsNot_Is")))
}
_ARITHMETIC = frozenset(("+", "-", "*", "/", "//", "%", "**", ">>", "<<", "|", "&", "^", "~"))
_NOTHING_TO_CHANGE = frozenset(("name", "newline", "string", "endmarker", "indent", "dedent", "fstring_string"))
_LOGS = frozenset(("debug", "info", "warning", "error", "exception", "critical"))


class Site(NamedTuple):
    """A place in a file with one of the things that can be done to it."""

    file: str
    place: tuple[int, int]  # line and column
    lines: tuple[int, int]  # of its statement, first and last: any of them may be the one that is seen to run
    operator: str
    occurrence: int  # among all that the operator could do in the file
    rank: str  # sites are drawn in the order of these
    users: tuple[int, ...] = ()  # lines that use what the statement makes, where it runs on import

    @property
    def key(self) -> str:
        """What finds a result again, in the same text."""
        return f"{self.place[0]}:{self.place[1]} {self.operator} {self.occurrence}"


def sites(file: str, text: str, seed: int) -> list[Site]:
    """One for each place and family of operators: a plus sign is one site, though eleven others could stand there.

    Which of them is chosen, and the rank, hang on the seed, the file and the text of the line alone, so that an edit
    elsewhere does not draw anew.
    """
    tree = ast.parse(text)
    unjudged, statements, users = list(_unjudged(tree)), _statements(tree), _users(tree)
    choices: dict[tuple[tuple[int, int], str], list[tuple[str, int]]] = {}
    for name, occurrence, place in _positions(text):
        if not any(start <= place < end for start, end in unjudged):
            choices.setdefault((place, name.split("_")[0]), []).append((name, occurrence))
    lines, found, same = text.splitlines(), [], Counter[str]()
    for (place, family), variants in sorted(choices.items()):
        line = f"{seed}|{file}|{lines[place[0] - 1].strip()}|{place[1]}|{family}"
        same[line] += 1
        rank = hashlib.sha256(f"{line}|{same[line]}".encode()).hexdigest()
        operator, occurrence = variants[int(rank[-8:], 16) % len(variants)]
        inside = [(a, b) for a, b in statements if a <= place[0] <= b]
        span = min(inside, key=lambda ab: (ab[1] - ab[0], -ab[0]), default=(place[0], place[0]))
        found.append(Site(file, place, span, operator, occurrence, rank, users.get(span[0], ())))
    return found


@lru_cache(maxsize=64)
def mutated(text: str, operator: str, occurrence: int) -> str | None:
    """The changed text; None where it would be no Python, or cosmic-ray cannot make it."""
    try:
        changed = mutate_code(text, _OPERATORS[operator], occurrence)
    except AttributeError:  # it takes each exception for a name: `except (OSError, *DAMAGE)`
        return None
    if changed is None or changed == text:
        return None
    try:
        compile(changed, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return str(changed)


def difference(text: str, changed: str) -> tuple[str, str]:
    """What the lines that differ said, and what they say now."""
    old, new = text.splitlines(), changed.splitlines()
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    tail = 0
    while tail < min(len(old), len(new)) - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    was, now = old[first : len(old) - tail], new[first : len(new) - tail]
    return " ".join(line.strip() for line in was), " ".join(line.strip() for line in now)


def _positions(text: str) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Operator, occurrence and place of all that the operators could do."""
    nodes: dict[bool, list[Any]] = {True: [], False: []}
    for node in ast_nodes(get_ast(text)):
        if node.type == "operator":
            if node.value in _ARITHMETIC:
                nodes[True].append(node)
        elif node.type not in _NOTHING_TO_CHANGE:
            nodes[False].append(node)
    for name, operator in _OPERATORS.items():
        occurrence = 0
        for node in nodes[name.startswith("ReplaceBinaryOperator")]:
            for start, _ in operator.mutation_positions(node):
                if node.parent.type != "parameters":  # a bare star, which cosmic-ray takes for a product
                    yield name, occurrence, start
                occurrence += 1


def _statements(tree: ast.AST) -> list[tuple[int, int]]:
    """First and last line of each statement, of compound ones without their bodies."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            found.append((first, last))
    return found


def _users(tree: ast.AST) -> dict[int, tuple[int, ...]]:
    """By the first line of what runs on import: lines of functions and classes, and those where constants are used."""
    named: dict[str, list[int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            named.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node.lineno)
    found: dict[int, tuple[int, ...]] = {}
    for outer in ast.walk(tree):
        for node in outer.body if isinstance(outer, ast.Module | ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                found[first] = tuple(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                stored = (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
                found[node.lineno] = tuple(line for one in stored for line in named[one.id] if line != node.lineno)
    return found


def _unjudged(tree: ast.AST) -> Iterator[Span]:
    """Annotations, which never run; words to people; what only a type checker or `import *` reads.

    `strict=True` of `zip` as well: it refuses lengths that differ only where a caller of ours is wrong.
    """
    for node in ast.walk(tree):
        skipped: list[ast.AST | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            skipped = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            skipped = [node.returns]
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            skipped = [node.test, *node.body]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            skipped = [node]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
            skipped = [one.value for one in node.keywords if ast.unparse(one) == "strict=True"]
        elif isinstance(node, ast.Raise):
            skipped = [one for one in ast.walk(node) if isinstance(one, ast.JoinedStr)]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            skipped = [node] if isinstance(called, ast.Attribute) and called.attr in _LOGS else []
        for one in skipped:
            if isinstance(one, ast.expr | ast.stmt):
                yield (one.lineno, one.col_offset), (one.end_lineno or one.lineno, one.end_col_offset or 0)
