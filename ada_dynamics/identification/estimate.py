# SPDX-License-Identifier: Apache-2.0
"""Identification of the parameters of a robot from a motion with measured efforts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.regressor import INERTIAL
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import characteristic_length
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, LittleExcitationWarning, NameDict, PoorFitWarning, invalid
from ada_dynamics.identification.base_parameters import base_parameters, excitation_rank, standard_deviations
from ada_dynamics.identification.consistent_fit import (
    BodyParameters,
    PositiveParameter,
    fit,
    inertial_parameters,
    pseudo_inertia,
    regularize,
)
from ada_dynamics.identification.regression import RegressionEquations, free_parameters, shared_parameters
from ada_dynamics.identification.result import Fit, Identification, fit_of
from ada_dynamics.identification.samples import WINDOW, motion_samples
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log

_ROUNDS = 4  # fits, each weighted by the residual of the one before
_CLEANEST = 1e-6  # smallest noise, relative to the efforts of a row
_EXCITED = 3e-3  # smallest effort of an excited combination relative to the reference states
_SMALL = 0.01  # initial effort of an unknown loss, relative to all efforts
_NAMED = 6  # combinations in a message
_INCONSISTENT = 3.0  # ratio to the unconstrained residual, above which the unconstrained parameters are inconsistent
_POOR = 50.0  # [%], median residual effort of the joints of a poor fit


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
    """Identify parameters of a robot by weighted least squares over physically consistent values.

    Example::

        found = ada.identify(model, q, v, a, tau)
        found = ada.identify(model, ada.Log.load("run.mcap"), parameters="link_7.*")
        found.values["link_7.mass"], found.model, found.parameters(), found.combinations()

    Args:
        robot: a model, or its `Dynamics`; fixed parameters have its values.
        motion: configurations (N, nq), or a `Log`, of which positions and efforts are used; velocities and
            accelerations are computed from the positions by zero-phase smoothing, and the ends are dropped.
        v: velocities, (N, nv).
        a: accelerations, (N, nv).
        tau: measured efforts of the motors, (N, nv), zero for unactuated joints.
        parameters: free parameters, by names of `Dynamics.parameters` with * and ?; by default the inertial parameters
            of links with mass, losses and rotors of the motors, and all nonzero parameters of the model.
        prior_weight: weight of the values of the model in measurements; they determine what the motion does not excite.
        window: width of the smoothing window for a `Log` [s].

    Raises:
        InputError: efforts are missing or zero, lengths do not match, the motion is too short, or no parameter is free.
        UnknownNameError: a parameter or joint does not exist.

    Warns:
        LittleExcitationWarning: the motion does not excite some combinations; the message lists them.
        PoorFitWarning: the residual is large; the message states it for each joint.
    """
    dynamics = robot if isinstance(robot, Dynamics) else Dynamics(robot)
    if not prior_weight > 0.0:
        raise invalid("prior_weight", prior_weight, "a positive number")
    equations = RegressionEquations(dynamics, free_parameters(dynamics, parameters))
    samples = motion_samples(dynamics.model, motion, v, a, tau, window)
    names = equations.names
    Y, rhs = equations.of(samples)
    certain = equations.certain(samples)
    Y, rhs = Y * certain[..., None], rhs * certain
    reference, _ = equations.of(equations.reference(samples))
    base = base_parameters(reference, names, shared_parameters(dynamics.model))
    columns = list(base.leading)
    lost, condition = excitation_rank(Y[..., columns], reference[..., columns], _EXCITED)
    if np.all(lost):
        text = f"the motion does not excite any of {_listed(base.names)}: move the joints that they act on."
        raise InputError(text, field="parameters", value=tuple(base.names))
    shown = [k for k, is_lost in zip(columns, lost, strict=True) if not is_lost]
    noise = _noise(Y[..., shown], rhs, certain)
    values = _solve(equations, names, Y, rhs, noise, prior_weight)
    deviations = np.full(len(lost), np.nan)
    deviations[~lost] = standard_deviations(Y[..., shown], rhs - Y @ values, noise)
    if np.any(lost):
        hidden = [name for name, is_lost in zip(base.names, lost, strict=True) if is_lost]
        warnings.warn(
            f"the motion does not excite {len(hidden)} of {len(lost)} combinations, which remain near the values of "
            f"the model: {_listed(hidden)}.",
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
    """Warn if the residual efforts are large, and distinguish inconsistent parameters from an inconsistent motion."""
    residual = found.percent
    if not np.nanmedian(residual) > _POOR:
        return
    shown = ", ".join(f"{joint} {share:.0f} %" for joint, share in zip(joints, residual, strict=True))
    errors = found.certain * (found.measured - found.computed)
    rms = np.sqrt(np.sum(errors**2, axis=0) / np.maximum(found.certain.sum(axis=0), 1.0))
    cause = (
        "Physically inconsistent parameters, such as negative masses, would fit better: check sign and units of tau, "
        "the order of its columns, and gravity."
        if np.any(rms > _INCONSISTENT * noise)
        else "No parameters fit: check that q, v, a and tau are rows of one motion, and their noise."
    )
    warnings.warn(
        f"the identified parameters leave a large residual effort (root mean square, by joint: {shown}) and are "
        f"not meaningful. {cause}",
        PoorFitWarning,
        stacklevel=3,
    )


# --- the fit ------------------------------------------------------------------------------------------------------
def _solve(
    equations: RegressionEquations, names: Sequence[str], Y: Array, rhs: Array, noise: Array, weight: float
) -> Array:
    """Values of the free parameters."""
    bodies, others, effective, values = _unknowns(equations, names, Y, rhs)
    rows = (Y[..., effective] / noise[:, None]).reshape(-1, len(effective))
    values[effective] = fit(rows, (rhs / noise).ravel(), values[effective], bodies, others, weight)
    return values


def _noise(Y: Array, rhs: Array, certain: Array) -> Array:
    """Standard deviation of the efforts of each row: the residual of unconstrained least squares, (m,).

    Args:
        Y: independent columns, (N, m, B).
        rhs: right-hand side, (N, m).
        certain: 1 for rows that count, else 0, (N, m).
    """
    counts = np.maximum(certain.sum(axis=0), 1.0)
    efforts = np.sqrt(np.sum(rhs**2, axis=0) / counts)
    least = _CLEANEST * np.maximum(efforts, 1e-3 * float(np.max(efforts)))
    noise = np.maximum(efforts, least)
    for _ in range(_ROUNDS):
        rows = (Y / noise[:, None]).reshape(-1, Y.shape[-1])
        values = np.linalg.lstsq(rows, (rhs / noise).ravel(), rcond=1e-12)[0]
        residual = rhs - Y @ values
        noise = np.maximum(np.sqrt(np.sum(residual**2, axis=0) / counts), least)
    return np.asarray(noise)


def _unknowns(
    equations: RegressionEquations, names: Sequence[str], Y: Array, rhs: Array
) -> tuple[list[BodyParameters], list[PositiveParameter], list[int], Array]:
    """Bodies and other parameters that have an effect, their indices among the names, and initial values of all."""
    model, parameters = equations.dynamics.model, equations.dynamics.parameters
    start = np.array([parameters[name] for name in names])
    sizes = np.sqrt(np.mean(np.sum(Y**2, axis=1), axis=0))
    effort = float(np.sqrt(np.mean(np.sum(rhs**2, axis=1)))) or 1.0
    by_owner: dict[str, list[int]] = {}
    others: list[PositiveParameter] = []
    effective: list[int] = []
    for k, name in enumerate(names):
        owner, _, kind = name.rpartition(".")
        if kind in INERTIAL:
            by_owner.setdefault(owner, []).append(k)
        elif sizes[k] > 0.0:
            whole = effort / float(sizes[k])
            start[k] = start[k] if start[k] > 0.0 else _SMALL * whole
            others.append(PositiveParameter(len(effective), float(start[k]), whole))
            effective.append(k)
    bodies, length = [], characteristic_length(model)
    cloud = model.total_mass * np.diag([*[length**2] * 3, 1.0])
    for link, columns in by_owner.items():
        if not np.any(sizes[columns]):
            continue
        which = np.array([INERTIAL.index(names[k].rpartition(".")[2]) for k in columns], dtype=np.intp)
        values = np.array([parameters[f"{link}.{kind}"] for kind in INERTIAL])
        prior = regularize(pseudo_inertia(values), model.total_mass, length)
        start[columns] = inertial_parameters(prior)[which]
        values[which] = 0.0
        effective += columns
        own = np.arange(len(effective) - len(columns), len(effective))
        body = BodyParameters(own, which, pseudo_inertia(values), prior, cloud)
        if np.linalg.eigvalsh(body.matrix(start[effective]))[0] <= 0.0:
            text = f"link {link!r}: the fixed parameters make it physically inconsistent. Free all of {link}.*"
            raise InputError(text, link=link, field="parameters", allowed=f"{link}.*")
        bodies.append(body)
    return bodies, others, effective, start
