# SPDX-License-Identifier: Apache-2.0
"""Parameters of a robot from a motion with measured efforts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.regressor import INERTIAL
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import typical_length
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, LittleExcitationWarning, NameDict, PoorFitWarning
from ada_dynamics.identification.base_parameters import base_parameters
from ada_dynamics.identification.consistent_fit import Body, Positive, fit
from ada_dynamics.identification.equations import Equations
from ada_dynamics.identification.motion import WINDOW, samples_of
from ada_dynamics.identification.pseudo_inertia import parameters_of, pseudo_inertia, thickened
from ada_dynamics.identification.result import Fit, Identification, fit_of
from ada_dynamics.identification.uncertainty import not_shown, standard_deviations
from ada_dynamics.identification.which import along_axes, dynamics_of, free_parameters
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log

_ROUNDS = 4  # of fits, each weighted by what the one before left
_CLEANEST = 1e-6  # of a row's efforts: noise is not taken for less
_SHOWN = 3e-3  # of the efforts that a combination makes in the reference states
_SMALL = 0.01  # of the efforts: what an unknown loss is supposed to make at first
_NAMED = 6  # combinations in a message
_POSSIBLE = 3.0  # times what the best numbers leave: more, and it is the bodies that are impossible
_POOR = 50.0  # [%] of the efforts, in the median over the joints, that a usable fit may leave


def identify(
    robot: Model | Dynamics,
    motion: Log | ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    parameters: str | Sequence[str] | None = None,
    prior_weight: float = 1e-3,
    window: float = WINDOW,
) -> Identification:
    """Parameters of a robot from a motion: weighted least squares over what a machine can be.

    Example::

        found = ada.identify(model, q, v, a, tau)
        found = ada.identify(model, ada.Log.load("run.mcap"), parameters="link_7.*")
        found.values["link_7.mass"], found.model, found.parameters(), found.combinations()

    Args:
        robot: a model, or its `Dynamics`; parameters that are not asked for have its values.
        motion: positions, (N, nq); or a `Log`, whose positions and efforts alone are used: velocities and accelerations
            come from the positions without delay, and its ends are dropped.
        v: velocities, (N, nv).
        a: accelerations, (N, nv).
        tau: measured efforts of the motors, (N, nv), zero where there is none.
        parameters: which, by names of `Dynamics.parameters` with * and ?; by default those of all links that have mass,
            losses and rotors of the motors, and whatever else the model has.
        prior_weight: what the model's own values weigh, in measurements; they decide on what the motion does not show.
        window: of the filter for a `Log` [s].

    Raises:
        InputError: efforts are missing or zero, lengths do not fit, the motion is too short, no parameter is asked for.
        UnknownNameError: there is no such parameter or joint.

    Warns:
        LittleExcitationWarning: names the combinations that the motion does not show.
        PoorFitWarning: says how much of the efforts the parameters leave unexplained, where that is most of them.
    """
    dynamics = dynamics_of(robot)
    if not prior_weight > 0.0:
        raise InputError(
            f"prior_weight is {prior_weight!r}; it must be a positive number.",
            field="prior_weight",
            value=prior_weight,
            allowed="a positive number",
        )
    equations = Equations(dynamics, free_parameters(dynamics, parameters))
    samples = samples_of(dynamics.model, motion, v, a, tau, window)
    names = equations.names
    Y, wanted = equations.of(samples)
    certain = equations.certain(samples)
    Y, wanted = Y * certain[..., None], wanted * certain
    reference, _ = equations.of(equations.reference(samples))
    base = base_parameters(reference, names, along_axes(dynamics.model))
    columns = list(base.leading)
    lost, condition = not_shown(Y[..., columns], reference[..., columns], _SHOWN)
    if np.all(lost):
        raise InputError(
            f"the motion shows nothing of {_listed(base.names)}: move the joints that these act on.",
            field="parameters",
            value=tuple(base.names),
        )
    shown = [k for k, is_lost in zip(columns, lost, strict=True) if not is_lost]
    noise = _noise(Y[..., shown], wanted, certain)
    values = _fitted(equations, names, Y, wanted, noise, prior_weight)
    deviations = np.full(len(lost), np.nan)
    deviations[~lost] = standard_deviations(Y[..., shown], wanted - Y @ values, noise)
    if np.any(lost):
        open_ones = [name for name, is_lost in zip(base.names, lost, strict=True) if is_lost]
        warnings.warn(
            f"the motion does not show {len(open_ones)} of {len(lost)} combinations, which stay near the model's "
            f"values: {_listed(open_ones)}.",
            LittleExcitationWarning,
            stacklevel=2,
        )
    found = fit_of(equations, samples, values)
    _warn_if_poor(equations.rows, found, noise)
    return Identification(
        equations,
        NameDict("parameter", {name: dynamics.parameters[name] for name in names}),
        NameDict("parameter", zip(names, values.tolist(), strict=True)),
        base,
        deviations,
        ~lost,
        noise,
        condition,
        found,
    )


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more


def _warn_if_poor(joints: Sequence[str], found: Fit, noise: Array) -> None:
    """Warn where the fit leaves most of the efforts unexplained, and say whether any numbers would explain them."""
    left = found.percent
    if not np.nanmedian(left) > _POOR:
        return
    shown = ", ".join(f"{joint} {share:.0f} %" for joint, share in zip(joints, left, strict=True))
    errors = found.certain * (found.measured - found.computed)
    by_numbers = np.sqrt(np.sum(errors**2, axis=0) / np.maximum(found.certain.sum(axis=0), 1.0)) > _POSSIBLE * noise
    why = (
        "Parameters that no bodies can have, such as negative masses, would explain more: check sign and units of tau, "
        "the order of its columns, and gravity."
        if np.any(by_numbers)
        else "No parameters explain them: check that q, v, a and tau are rows of one motion, and how noisy they are."
    )
    warnings.warn(
        f"the identified parameters leave most of the efforts unexplained (root mean square, by joint: {shown}) and "
        f"mean nothing. {why}",
        PoorFitWarning,
        stacklevel=3,
    )


# --- the fit ------------------------------------------------------------------------------------------------------
def _fitted(equations: Equations, names: Sequence[str], Y: Array, wanted: Array, noise: Array, weight: float) -> Array:
    """Values of the free parameters."""
    bodies, others, start = _unknowns(equations, names, Y, wanted)
    known = start.copy()
    acting = np.array(sorted({int(k) for b in bodies for k in b.places} | {o.place for o in others}), dtype=np.intp)
    place = {int(k): i for i, k in enumerate(acting)}
    bodies = [replace(body, places=np.array([place[int(k)] for k in body.places], dtype=np.intp)) for body in bodies]
    others = [replace(one, place=place[one.place]) for one in others]
    rows = (Y[..., acting] / noise[:, None]).reshape(-1, len(acting))
    target = (wanted / noise).ravel()
    known[acting] = fit(rows, target, start[acting], bodies, others, weight)
    return known


def _noise(Y: Array, wanted: Array, certain: Array) -> Array:
    """Of each row's efforts: what the best parameters leave of them, whether any machine has these or not.

    Args:
        Y: columns that do not depend on one another, (N, m, B).
        wanted: (N, m).
        certain: 1 for rows that count, else 0.
    """
    counts = np.maximum(certain.sum(axis=0), 1.0)
    efforts = np.sqrt(np.sum(wanted**2, axis=0) / counts)
    least = _CLEANEST * np.maximum(efforts, 1e-3 * float(np.max(efforts)))
    noise = np.maximum(efforts, least)
    for _ in range(_ROUNDS):
        rows = (Y / noise[:, None]).reshape(-1, Y.shape[-1])
        values = np.linalg.lstsq(rows, (wanted / noise).ravel(), rcond=1e-12)[0]
        left = wanted - Y @ values
        noise = np.maximum(np.sqrt(np.sum(left**2, axis=0) / counts), least)
    return np.asarray(noise)


def _unknowns(
    equations: Equations, names: Sequence[str], Y: Array, wanted: Array
) -> tuple[list[Body], list[Positive], Array]:
    """Bodies and other parameters that have an effect, and values to start with."""
    model, parameters = equations.dynamics.model, equations.dynamics.parameters
    start = np.array([parameters[name] for name in names])
    sizes = np.sqrt(np.mean(np.sum(Y**2, axis=1), axis=0))
    effort = float(np.sqrt(np.mean(np.sum(wanted**2, axis=1)))) or 1.0
    by_owner: dict[str, list[int]] = {}
    others: list[Positive] = []
    for k, name in enumerate(names):
        owner, _, kind = name.rpartition(".")
        if kind in INERTIAL:
            by_owner.setdefault(owner, []).append(k)
        elif sizes[k] > 0.0:
            whole = effort / float(sizes[k])
            start[k] = start[k] if start[k] > 0.0 else _SMALL * whole
            others.append(Positive(k, float(start[k]), whole))
    bodies, length = [], typical_length(model)
    cloud = model.total_mass * np.diag([*[length**2] * 3, 1.0])
    for link, places in by_owner.items():
        if not np.any(sizes[places]):
            continue
        which = np.array([INERTIAL.index(names[k].rpartition(".")[2]) for k in places], dtype=np.intp)
        values = np.array([parameters[f"{link}.{kind}"] for kind in INERTIAL])
        prior = thickened(pseudo_inertia(values), model.total_mass, length)
        start[places] = parameters_of(prior)[which]
        values[which] = 0.0
        body = Body(np.array(places, dtype=np.intp), which, pseudo_inertia(values), prior, cloud)
        if np.linalg.eigvalsh(body.matrix(start))[0] <= 0.0:
            raise InputError(
                f"link {link!r}: with the parameters that stay as they are it is no body. Ask for all of {link}.*",
                link=link,
                field="parameters",
                allowed=f"{link}.*",
            )
        bodies.append(body)
    return bodies, others, start
