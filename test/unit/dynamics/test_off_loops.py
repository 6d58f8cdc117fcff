# SPDX-License-Identifier: Apache-2.0
"""States off the loops are warned of from a ten thousandth of a length on, with the worst of each loop."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ada_dynamics.dynamics import off_loops, singular_warnings
from ada_dynamics.dynamics.off_loops import warn_if_off_loops
from ada_dynamics.errors import BifurcationWarning, LoopVelocityWarning, OpenLoopWarning, SingularPoseWarning

Array = Any
WEIGHTS, LENGTH = np.array([1.0, 0.5, 2.0]), 3.0


def told(gaps: Any, drifts: Any, scales: Any = 0.0, batch: bool = False, at_rest: bool = False) -> list[Any]:
    """Warnings of states with these gaps and drifts, a column for each state, in units of forces."""
    shown = [np.atleast_2d(np.array(x, dtype=float).T).T for x in (gaps, drifts)]
    numbers: Any = SimpleNamespace(
        gaps=lambda q: -shown[0] * WEIGHTS[:, None],
        drifts=lambda q, v: (shown[1] * WEIGHTS[:, None], scales * np.ones_like(shown[1]) * WEIGHTS[:, None]),
        weights=WEIGHTS,
        length=LENGTH,
        model=SimpleNamespace(name="m"),
        conditions=[("a", 0, ""), ("b", 0, ""), ("a", 1, "")],
    )
    q = np.zeros((shown[0].shape[1], 2) if batch else 2)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_if_off_loops(numbers, q, np.zeros(2) if at_rest else np.ones(2))
    return [(one.category, str(one.message)) for one in found]


def test_gaps_are_told_from_a_ten_thousandth_of_the_length_on() -> None:
    limit, none = 1e-4 * LENGTH, [0.0] * 3
    assert told([limit] * 3, none) == []
    for gaps, words in (
        ([1.01 * limit, 0.0, 0.0], "given: 'a' by 0.000303 m. The results"),
        ([0.0, 2.0, 0.0], "given: 'b' by 2 m."),
        ([0.3, 0.2, 0.4], "given: 'a' by 0.4 m, 'b' by 0.2 m."),
        ([0.5, 0.99 * limit, 0.4], "given: 'a' by 0.5 m."),
    ):
        ((kind, said),) = told(gaps, none)
        assert kind is OpenLoopWarning and "loops of model 'm' are open" in said and words in said


def test_velocities_are_told_by_the_larger_of_the_length_and_what_they_would_add_up_to() -> None:
    none = [0.0] * 3
    for scale, limit in ((0.0, 1e-4 * LENGTH), (2.0, 1e-4 * LENGTH), (50.0, 1e-4 * 50.0)):
        assert told(none, [0.0, limit, 0.0], scale) == []
        ((kind, said),) = told(none, [0.0, 1.01 * limit, 0.0], scale)
        assert kind is LoopVelocityWarning and f"model 'm': 'b' by {1.01 * limit:.3g} m/s. No motion" in said
    assert told(none, [1.0] * 3, at_rest=True) == []
    both = told([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    assert [kind for kind, _ in both] == [OpenLoopWarning, LoopVelocityWarning]


def test_of_a_batch_the_first_state_is_told_and_how_many_others() -> None:
    rows = np.zeros((3, 4))
    rows[1, 2] = 0.5
    for given, unit in (((rows, 0.0 * rows), "m"), ((0.0 * rows, rows), "m/s")):
        ((_, said),) = told(*given, batch=True)
        assert f"'b' by 0.5 {unit} (state 2)." in said
    rows[0, 1], rows[2, 1], rows[2, 3] = 0.1, 0.25, 0.2
    for given in ((rows, 0.0 * rows), (0.0 * rows, rows)):
        ((_, said),) = told(*given, batch=True)
        assert "'a' by 0.25 m" in said and "'b' by 0.5 m" in said and " (state 1 and 2 others)." in said


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_explained_elsewhere_is_not_told_here(wrong: float) -> None:
    numbers: Any = None  # which nobody asks
    warn_if_off_loops(numbers, np.array([wrong, 0.0]), np.ones(2))
    warn_if_off_loops(numbers, np.zeros(2), np.array([wrong, 0.0]))
    warn_if_off_loops(numbers, np.zeros((0, 2)), np.zeros((0, 2)))


def test_warnings_point_at_the_first_caller_outside_of_the_package(monkeypatch: Any) -> None:
    def inner() -> int:
        return off_loops.level_of_caller()

    assert inner() == 1
    inside = {"__name__": "ada_dynamics.inner", "level": off_loops.level_of_caller}
    exec("def one():\n    return level()\ndef two():\n    return one()", inside)
    one, two = inside["one"], inside["two"]
    assert (one(), two()) == (2, 3)  # type: ignore[operator]


def test_singular_poses_are_told_by_their_loops_and_ways_out() -> None:
    model: Any = SimpleNamespace(name="m")
    for ways, kind, words in (
        (None, SingularPoseWarning, "in a singular pose (loops a, b): its acceleration follows from the rate"),
        ([], BifurcationWarning, "it can start to move along several directions."),
        ([np.array([1.0, 0.0])], BifurcationWarning, "along 1 directions: [1., 0.]."),
        ([np.array([1.0, 0.0]), np.array([0.0, 0.5])], BifurcationWarning, "along 2 directions: [1., 0.]; [0. , 0.5]."),
    ):
        with pytest.warns(kind) as found:
            singular_warnings.warn_singular(model, {"b", "a"}, singular_warnings.OF_FORWARD, ways)
        assert words in str(found[0].message)
