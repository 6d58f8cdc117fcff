# SPDX-License-Identifier: Apache-2.0
"""Columns of the derivatives of the residual of a tree, as loops over the velocities of one branch.

A column has entries for the ancestors and descendants of its joint only. Such an entry is the product of a few numbers
of the column with a few of the row, which all columns share, so that the code of a group of columns is short. Entries
between the joints of a group are operands. The code ends with the first half of the solution for the column, in which
its zeros save work; the second half is one loop over all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import groupby
from types import MappingProxyType

from ada_dynamics.algorithms.ldl import Factors
from ada_dynamics.algorithms.rnea_derivatives import RneaDerivatives
from ada_dynamics.expr import Expr, Function, trace
from ada_dynamics.expr.function import COLUMN, SHARED, Columns
from ada_dynamics.spatial.vector import ZERO, Scalar, is_zero, leaves, product

Vector = Sequence[Scalar]
Own = Callable[[Vector], list[Scalar]]  # shared values as variables of the function of a column
Entries = Mapping[int, Sequence[Scalar]]  # rows of the residual
NO_ENTRIES: Mapping[str, Entries] = MappingProxyType({})
CHANGES = "changes"  # columns halfway through their solution


class SolvedColumns:
    """The accelerations' changes K⁻¹(-dr) for columns dr."""

    def __init__(self, n: int, factors: Factors | None, shared: Sequence[Scalar] = ()) -> None:
        """Args: number of accelerations, the first unknowns; factors of K, if any; what columns share besides these."""
        self.factors, self.n = factors, n
        self._size, values = n, [*shared]
        if factors is not None:
            self._size, self._negative = len(factors.order), [-x for x in factors.inverse]
            values += [*self._negative, *(x for row in factors.rows for x in row.values())]
        self._shared = tuple(dict.fromkeys(x for x in values if isinstance(x, Expr)))
        self._places = {x: k for k, x in enumerate(self._shared)}
        self._functions: dict[Hashable, Function] = {}

    def given(self, output: str, rows: Sequence[Vector]) -> Columns:
        """Changes for the columns of a matrix."""

        def body(own: Own, column: Vector) -> Vector:
            return self._factors(own).backward(self._first_half(own, dict(enumerate(column))))[: self.n]

        return Columns(output, self._function("whole", self._size, body), self._shared, tuple(map(tuple, rows)))

    def _function(self, key: Hashable, size: int, body: Callable[[Own, Vector], Vector]) -> Function:
        """Function of columns of some size; columns with the same key share it."""

        def traced(shared: Vector, column: Vector) -> dict[str, Vector]:
            def own(values: Vector) -> list[Scalar]:
                return [shared[self._places[x]] if isinstance(x, Expr) else x for x in values]

            return {"result": body(own, column)}

        if key not in self._functions:
            self._functions[key] = trace("column", {SHARED: max(len(self._shared), 1), COLUMN: size}, traced)
        return self._functions[key]

    def _first_half(self, own: Own, column: Mapping[int, Scalar]) -> Vector:
        """-D⁻¹ L⁻ᵀ of a column, or the column itself without factors."""
        dense = [column.get(i, 0.0) for i in range(self._size)]
        if self.factors is None:
            return dense
        x = self._factors(own).forward(dense)
        return [k * y for k, y in zip(own(self._negative), x, strict=True)]

    def _second_half(self, output: str) -> Columns:
        """L⁻¹ of all columns."""
        each = self._function("second half", self._size, lambda own, x: self._factors(own).backward(x)[: self.n])
        return Columns(output, each, self._shared, (), 0, self.n, CHANGES)

    def _factors(self, own: Own) -> Factors:
        assert self.factors is not None
        rows = [dict(zip(row, own(list(row.values())), strict=True)) for row in self.factors.rows]
        return self.factors._replace(rows=rows)


class ResidualColumns(SolvedColumns):
    """∂r/∂q, ∂r/∂v and ∂r/∂a, or the accelerations' changes K⁻¹(-dr) with them."""

    def __init__(
        self, found: RneaDerivatives, factors: Factors | None = None, more: Mapping[str, Entries] = NO_ENTRIES
    ) -> None:
        """Args: derivatives of the joints; the factors of K, if solutions are asked for; more terms by the variable."""
        self.found, self.more = found, more
        coordinates = (each for one in found.coordinates for each in one)
        super().__init__(found.tree.nv, factors, [x for one in coordinates for x in (*leaves(one.axis), *one.felt)])

    def by(self, variable: str) -> list[Columns]:
        """∂r/∂(variable)."""
        parts = (groupby(group, partial(self._zeros, variable)) for group in self.found.groups)
        return [self._related(list(part), variable, variable) for group in parts for _, part in group]

    def solved(self, variable: str) -> list[Columns]:
        """Changes of the accelerations with a variable, q or v."""
        return [*(self._related(group, variable, CHANGES) for group in self.found.groups), self._second_half(variable)]

    def by_efforts(self, output: str) -> list[Columns]:
        """Changes of the accelerations with the efforts: ∂r/∂τ = -1."""
        columns = []
        for group in self.found.groups:

            def body(own: Own, column: Vector, group: Sequence[int] = group) -> Vector:
                return self._first_half(own, dict(zip(group, column, strict=True)))

            rows = [[-1.0 if i == j else 0.0 for j in group] for i in group]
            columns.append(self._columns(CHANGES, (output, group[0]), rows, body, group[0]))
        return [*columns, self._second_half(output)]

    def _zeros(self, variable: str, j: int) -> list[bool]:
        """Which vectors of a change vanish: others for translations of a free joint than for its rotations."""
        turn, rate = self.found.coordinates[j][0].changes[variable]
        return [all(map(is_zero, x)) for x in (turn, *rate)]

    def _related(self, group: Sequence[int], variable: str, output: str) -> Columns:
        found, of_group = self.found, [self.found.coordinates[j][0] for j in group]
        above = [i for i in range(self.n) if all(found.is_above(i, j) for j in group)]
        below = [i for i in range(self.n) if all(found.is_above(j, i) for j in group)]
        among = [i for i in range(self.n) if i not in above and i not in below]
        entries = {i: found.entries(variable, i, group) for i in among}
        entries = {i: row for i, row in entries.items() if i == group[0] or not all(map(is_zero, row))}
        passed = zip(*(leaves(one.passed[variable]) for one in of_group), strict=True) if above else ()
        further: dict[int, Vector] = {}
        for i, row in self.more.get(variable, {}).items():
            if not all(is_zero(row[j]) for j in group):
                further[i] = [row[j] for j in group]
        changes = zip(*(leaves(one.changes[variable]) for one in of_group), strict=True) if below else ()

        def body(own: Own, column: Vector) -> Vector:
            left = iter(column)
            wrench, change = ([next(left) for _ in range(size)] for size in (6 * bool(above), 9 * bool(below)))
            result = {i: product(own(leaves(found.coordinates[i][0].axis)), wrench) for i in above}
            result |= {i: product(own(found.coordinates[i][0].felt), change) for i in below}
            for i, x in zip((*entries, *further), left, strict=True):
                result[i] = result.get(i, ZERO) + x
            return self._first_half(own, result)

        rows = [*passed, *changes, *entries.values(), *further.values()]
        return self._columns(output, (group[0], *entries, *further), rows, body, group[0])

    def _columns(
        self, output: str, key: Hashable, rows: Sequence[Vector], body: Callable[[Own, Vector], Vector], first: int
    ) -> Columns:
        """Columns of one function; an operand that is one number in all of them is written into its code."""
        numbers = [row[0] if all(not isinstance(x, Expr) and x == row[0] for x in row) else None for row in rows]
        if None not in numbers:
            numbers[0] = None

        def of_column(own: Own, column: Vector) -> Vector:
            left = iter(column)
            return body(own, [next(left) if number is None else number for number in numbers])

        given = tuple(tuple(row) for row, number in zip(rows, numbers, strict=True) if number is None)
        each = self._function((key, *numbers), len(given), of_column)
        return Columns(output, each, self._shared, given, first, self.n)
