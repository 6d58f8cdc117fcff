# SPDX-License-Identifier: Apache-2.0
"""Configurations that close all loops: near a guess, near each of a batch, and of all assembly modes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import ClosedConfiguration, closed_configuration
from ada_dynamics.constraints.closure import initial_configuration
from ada_dynamics.constraints.constraint_set import characteristic_length
from ada_dynamics.constraints.coordinates import ACTUATED, Coordinates, units_of_rates
from ada_dynamics.dynamics.arguments import as_array
from ada_dynamics.dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.loop_closure import CLOSED, NOT_CLOSED, ClosedPositions, joint_points
from ada_dynamics.errors import DistantClosureWarning, ModelError
from ada_dynamics.model.model import Model

DISTANT, SLID = 1.0, 0.2  # [rad], and share of the characteristic length
_NAMED = 6  # joints in a message


def close_loops(
    model: Model, guess: ArrayLike | Mapping[str, ArrayLike] | None = None, hold: str | Sequence[str] = ()
) -> ClosedConfiguration:
    """Close all loops near a configuration.

    Example::

        q = ada.close_loops(model, guess)
        print(q.report())
        q = ada.close_loops(model, {"left_crank": 0.3, "right_crank": -0.3}, hold=model.actuated)

    Args:
        model: a model with loops.
        guess: configuration to start from, or positions by the name of the joint; joints that are not named, or all by
            default, are in the home configuration of the model.
        hold: joint or joints that keep their position in the guess, such as motors set to given angles.

    Returns:
        Configuration near the guess that closes all loops. A closed guess is returned unchanged; otherwise
        configurations within the position limits are preferred, and a BeyondLimitsWarning names the joints beyond them.

        A DistantClosureWarning names joints that are more than 1 rad, or 20 % of the mechanism's characteristic length,
        from the guess.

    Raises:
        InputError: guess or hold are invalid.
        ModelError: the loops cannot be closed; the message gives the smallest closure errors by loop.
    """
    q = closed_configuration(model, guess, hold)
    if guess is not None:
        _warn_if_distant(model, initial_configuration(model, guess), np.asarray(q))
    return q


def _warn_if_distant(model: Model, guess: Array, q: Array) -> None:
    """Warn of joints that turned by more than DISTANT, or slid by more than a share of the characteristic length."""
    limits = np.where([unit == "m" for unit in units_of_rates(model)], SLID * characteristic_length(model), DISTANT)
    moved = np.abs(model.difference(guess, q))
    joints = {model.joint_of_velocity(k): float(moved[k]) for k in np.flatnonzero(moved > limits).tolist()}
    if joints:
        shown = ", ".join(f"{name} by {size:.3g}" for name, size in list(joints.items())[:_NAMED])
        text = (
            f"model {model.name!r}: the loops are closed far from the guess [rad, m]: {shown}. Another assembly mode "
            "is possible; start nearer to the intended one, or choose it from ada.assembly_modes(model)."
        )
        warnings.warn(DistantClosureWarning(text, loops=tuple(model.loop_names), joints=joints), stacklevel=3)


def close_loops_batch(model: Model, guesses: ArrayLike, hold: str | Sequence[str] = ()) -> ClosedPositions:
    """Close all loops near each configuration of a batch, compiled where joints are held.

    Args:
        model: a model with loops.
        guesses: configurations to start from, (N, nq).
        hold: joint or joints that keep their positions in the guesses; they must determine the motion.

    Returns:
        Positions, (N, nq), and a status for each row: see `ClosedPositions`. With held joints all are in the assembly
        mode of the first one.

    Raises:
        InputError: guesses or hold are invalid, or the held joints do not determine the motion.
        ModelError: the loops of the first row cannot be closed with the held joints.
    """
    rows = np.atleast_2d(as_array("guesses", guesses, model.nq, model))
    if not hold:
        q, status = np.full(rows.shape, np.nan), np.full(len(rows), NOT_CLOSED)
        for i, guess in enumerate(rows):
            with contextlib.suppress(ModelError):
                q[i], status[i] = closed_configuration(model, guess), CLOSED
        return ClosedPositions(q, status)
    names = [hold] if isinstance(hold, str) else list(hold)
    first = np.asarray(closed_configuration(model, rows[0], names))
    closure = Dynamics(model, q0=first).constraints.loop_closure(names)
    given = rows[:, closure.places]
    q, status = closure.solve(given, near=rows)
    left = np.flatnonzero(status >= NOT_CLOSED)
    q[left], status[left] = closure.solve(given[left])
    return ClosedPositions(q, status)


def assembly_modes(
    model: Model,
    given: ArrayLike | Mapping[str, float] | None = None,
    coordinates: Coordinates = ACTUATED,
    starts: int = 256,
) -> dict[str, ClosedConfiguration]:
    """Configurations of all assembly modes with given positions of some joints.

    Example::

        modes = ada.assembly_modes(model, {"left_crank": 0.3, "right_crank": -0.3})
        dyn = ada.Dynamics(model, q0=modes["elbow_up"])

    Args:
        model: a model with loops.
        given: positions of the coordinates, in their order or by name; by default those of the home configuration.
        coordinates: "actuated", "independent" or names of joints whose positions are given.
        starts: number of random starts of Newton's method; rare modes need more.

    Returns:
        Configurations by name, the one with the highest links first: "elbow_up" and "elbow_down" where there are two,
        else "mode_1", "mode_2" and so on.
    """
    closure, g = Dynamics(model).constraints.loop_closure(coordinates), np.asarray(model.gravity, dtype=float)
    values = closure.reference[closure.places] if given is None else given
    up = -g / np.linalg.norm(g) if g.any() else np.array([0.0, 0.0, 1.0])
    found = sorted(closure.solutions(values, starts), key=lambda q: -float(np.sum(joint_points(model, q) @ up)))
    names = ("elbow_up", "elbow_down") if len(found) == 2 else [f"mode_{i + 1}" for i in range(len(found))]
    return {name: closed_configuration(model, q) for name, q in zip(names, found, strict=True)}
