# SPDX-License-Identifier: Apache-2.0
"""Columns of the derivatives of the residual of a tree, as loops over the velocities of one branch.

A column has entries for the ancestors and descendants of its joint only. Such an entry is the product of a few numbers
of the column with a few of the row, which all columns share, so that the code of a group of columns is short. Entries
between the joints of a group are operands. With triangular factors the code ends with the first half of the solution,
in which zeros save work, and one loop has the second half. Articulated bodies solve whole columns in one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from types import MappingProxyType

from ada_dynamics.algorithms.articulated_factors import ArticulatedFactors
from ada_dynamics.algorithms.ldl import Factors
from ada_dynamics.algorithms.rnea_derivatives import OF_STATE, RneaDerivatives
from ada_dynamics.expr import Expr, Function, trace
from ada_dynamics.expr.function import COLUMN, SHARED, Columns
from ada_dynamics.spatial.vector import ZERO, Scalar, is_zero, leaves, product

Vector = Sequence[Scalar]
Own = Callable[[Vector], list[Scalar]]  # shared values as variables of the function of a column
Body = Callable[[Own, Vector], Vector]  # of a function of columns
Entries = Mapping[int, Sequence[Scalar]]  # rows of the residual
AnyFactors = Factors | ArticulatedFactors
NO_ENTRIES: Mapping[str, Entries] = MappingProxyType({})
RUN = 32  # successive columns from which a loop is faster (measured)
CHANGES = "changes"  # columns of the residual, or halfway through their solution


class SolvedColumns:
    """The accelerations' changes K⁻¹(-dr) for columns dr."""

    def __init__(self, n: int, factors: AnyFactors | None, shared: Sequence[Scalar] = ()) -> None:
        """Args: number of accelerations, the first unknowns; factors of K, if any; what columns share besides these."""
        self.factors, self.n = factors, n
        self._size, values = n, [*shared]
        if factors is not None:
            self._size, self._negative = len(factors.inverse), [-x for x in factors.inverse]
            values += [*self._negative, *factors.values]
        self._shared = tuple(dict.fromkeys(x for x in values if isinstance(x, Expr)))
        self._places = {x: k for k, x in enumerate(self._shared)}
        self._functions: dict[Hashable, Function] = {}
        self._numbers: dict[Hashable, list[float | None]] = {}  # operands in the code of a half of a solution

    def given(self, output: str, rows: Sequence[Vector]) -> Columns:
        """Changes for the columns of a matrix."""
        return Columns(output, self._whole(), self._shared, tuple(map(tuple, rows)))

    def of_changes(self, output: str) -> Columns:
        """Changes for the columns of CHANGES."""
        return Columns(output, self._whole(), self._shared, (), 0, self.n, CHANGES)

    def _whole(self) -> Function:
        def body(own: Own, column: Vector) -> Vector:
            return self._factors(own).backward(self._first_half(own, dict(enumerate(column))))[: self.n]

        return self._function("whole", self._size, body)

    def _function(self, key: Hashable, size: int, body: Body) -> Function:
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

    def _factors(self, own: Own) -> AnyFactors:
        assert self.factors is not None
        return self.factors.with_values(own(self.factors.values))


class ResidualColumns(SolvedColumns):
    """∂r/∂q, ∂r/∂v and ∂r/∂a, or the accelerations' changes K⁻¹(-dr) with them."""

    def __init__(
        self, found: RneaDerivatives, factors: AnyFactors | None = None, more: Mapping[str, Entries] = NO_ENTRIES
    ) -> None:
        """Args: derivatives of the joints; the factors of K, if solutions are asked for; more terms by the variable."""
        self.found, self.more = found, more
        self.groups = found.groups if factors is None else found.related
        coordinates = (each for one in found.coordinates for each in one)
        # Function of a group at the end of a branch by its first velocity: key, row of each operand or -1, body.
        self._outermost: dict[int, tuple[Hashable, Sequence[int], Body]] = {}
        super().__init__(found.tree.nv, factors, [x for one in coordinates for x in (*leaves(one.axis), *one.felt)])

    def by(self, variable: str, output: str) -> list[Columns]:
        """∂r/∂(variable)."""
        windows, rest = self._windows(variable, output), self._rest
        parts = ((groupby(group, partial(self._zeros, variable)), rows) for group, rows in rest)
        columns = [(list(part), rows) for groups, rows in parts for _, part in groups]
        return [*windows, *(self._related(part, variable, output, own) for part, rows in columns for own in rows)]

    def solved(self, variable: str) -> list[Columns]:
        """Changes of the accelerations with a variable, q or v."""
        return [*self._halves[variable], self._second_half(variable)]

    @cached_property
    def _halves(self) -> dict[str, list[Columns]]:
        """First halves of the solutions; the functions of dv, which has fewer zeros, serve dq as well."""
        return {x: [self._related(group, x, CHANGES) for group in self.groups] for x in reversed(OF_STATE)}

    def by_efforts(self, output: str) -> list[Columns]:
        """Changes of the accelerations with the efforts."""
        return [*self.of_efforts(CHANGES), self._second_half(output)]

    def of_efforts(self, output: str) -> list[Columns]:
        """∂r/∂τ = -1, or half of the solution with it, at the end of a branch by the function of dq and dv."""
        columns = []
        for group in self.groups:

            def body(own: Own, column: Vector, group: Sequence[int] = group) -> Vector:
                return self._first_half(own, dict(zip(group, column, strict=True)))

            key, of_rows, each = self._outermost.get(group[0], (("efforts", group[0]), group, body))
            rows = [[-1.0 if i == j else 0.0 for j in group] for i in of_rows]
            columns.append(self._columns(output, key, rows, each, group[0]))
        return columns

    def _zeros(self, variable: str, j: int) -> list[bool]:
        """Which vectors of a change vanish: others for translations of a free joint than for its rotations."""
        turn, rate = self.found.coordinates[j][0].changes[variable]
        return [all(map(is_zero, x)) for x in (turn, *rate)]

    def _related(self, group: Sequence[int], variable: str, output: str, rows: range | None = None) -> Columns:
        """Columns of a group, or some rows of them without factors."""
        found, of_group = self.found, [self.found.coordinates[j][0] for j in group]
        own_rows = rows or range(self.n)
        above = [i for i in own_rows if self._carry([i], group)]
        below = [i for i in own_rows if self._carry(group, [i])]
        among = [i for i in own_rows if i not in above and i not in below]
        entries = {i: found.entries(variable, i, group) for i in among}
        first = rows.start if rows else group[0]  # a function of a column has an operand
        entries = {i: row for i, row in entries.items() if i == first or not all(map(is_zero, row))}
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
            return [result.get(i, ZERO) for i in rows] if rows else self._first_half(own, result)

        operands = [*passed, *changes, *entries.values(), *further.values()]
        key = (group[0], rows, *entries, *further)
        if self.factors is not None and not below and entries.keys() >= set(group):
            self._outermost[group[0]] = key, [-1] * 6 * bool(above) + [*entries] + [-1] * len(further), body
        columns = self._columns(output, key, operands, body, group[0])
        return replace(columns, row=rows.start, height=self.n) if rows else columns

    @cached_property
    def _runs(self) -> list[tuple[Sequence[int], range, bool]]:
        """Rows of a group, a long run of columns, and whether the joints of these carry those of the rows."""
        groups, runs = self.groups if not self.more else (), list[tuple[Sequence[int], range, bool]]()
        for group in groups:
            above = [j for one in groups if self._carry(one, group) for j in one]
            below = [j for one in groups if self._carry(group, one) for j in one]
            for columns, carry in ((below, False), (above, True)):
                runs += [(group, run, carry) for run in _consecutive(columns) if len(run) >= RUN]
        return runs

    def _carry(self, group: Sequence[int], other: Sequence[int]) -> bool:
        """Return True if the joints of a group carry those of the other one."""
        return all(self.found.is_above(i, j) for i in group for j in other)

    @cached_property
    def _rest(self) -> list[tuple[Sequence[int], list[range]]]:
        """Columns of a group, and the rows that no run has."""
        rest: list[tuple[Sequence[int], list[range]]] = []
        for group in self.groups:
            covered = {i for rows, run, _ in self._runs if group[0] in run for i in rows}
            rest.append((group, _consecutive([i for i in range(self.n) if i not in covered])))
        return rest

    def _windows(self, variable: str, output: str) -> list[Columns]:
        """Entries of the runs: products of a few numbers of the row with a few of the column."""
        every, columns = [one[0] for one in self.found.coordinates], list[Columns]()
        for carries in (False, True):
            of_row = [one.felt if carries else leaves(one.axis) for one in every]
            of_column = [leaves(one.changes[variable] if carries else one.passed[variable]) for one in every]
            rows = [tuple(row) for row in zip(*of_column, strict=True)]
            kept = [k for k, row in enumerate(rows) if not all(map(is_zero, row))]
            shared, rows = tuple(x[k] for x in of_row for k in kept), [rows[k] for k in kept]
            for group, run, carry in self._runs:
                if carry == carries:
                    each = self._product(len(group), len(kept))
                    one = Columns(output, each, shared, tuple(rows), run[0], self.n, row=group[0], height=self.n)
                    columns.append(replace(one, window=len(run)))
        return columns

    def _product(self, rows: int, size: int) -> Function:
        """Entries of some rows, from so many numbers of the row and of the column each."""

        def body(shared: Vector, column: Vector) -> dict[str, Vector]:
            return {"result": [product(shared[k * size : (k + 1) * size], column) for k in range(rows)]}

        key = rows, size
        if key not in self._functions:
            self._functions[key] = trace("product", {SHARED: rows * size, COLUMN: size}, body)
        return self._functions[key]

    def _columns(self, output: str, key: Hashable, rows: Sequence[Vector], body: Body, first: int) -> Columns:
        """Columns of one function; an operand that is one number in all of them is written into its code."""
        numbers = [row[0] if all(not isinstance(x, Expr) and x == row[0] for x in row) else None for row in rows]
        if self.factors is not None:  # less code is worth some operations on zeros
            known = self._numbers.setdefault(key, numbers)
            if all(x is None or x == y for x, y in zip(known, numbers, strict=True)):
                numbers = known
        if None not in numbers:
            numbers[0] = None

        def of_column(own: Own, column: Vector) -> Vector:
            left = iter(column)
            return body(own, [next(left) if number is None else number for number in numbers])

        given = tuple(tuple(row) for row, number in zip(rows, numbers, strict=True) if number is None)
        each = self._function((key, *numbers), len(given), of_column)
        return Columns(output, each, self._shared, given, first, self.n)


def _consecutive(numbers: Sequence[int]) -> list[range]:
    """Runs of successive numbers."""
    known = set(numbers)
    starts = [i for i in numbers if i - 1 not in known]
    ends = [i + 1 for i in numbers if i + 1 not in known]
    return [range(a, b) for a, b in zip(starts, ends, strict=True)]
