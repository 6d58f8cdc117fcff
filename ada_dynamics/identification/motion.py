# SPDX-License-Identifier: Apache-2.0
"""Motions as they are given, as rows in the order of the model; refused where they cannot tell anything."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, WrongTypeError, unknown_name
from ada_dynamics.identification.smoothing import Samples, smoothed
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log

WINDOW = 0.1  # [s]


def samples_of(
    model: Model,
    motion: Log | ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
    tau: ArrayLike | None,
    window: float,
) -> Samples:
    """States of a motion as `identify` takes it."""
    if isinstance(motion, Log):
        return _of_log(model, motion, window)
    return _given(model, motion, v, a, tau)


def _of_log(model: Model, log: Log, window: float) -> Samples:
    """States of a log: velocities and accelerations from its positions, efforts through the same filter.

    Args:
        model: whose joints are asked for, which may stand in another order in the log.
        log: with positions and efforts.
        window: of the filter [s].
    """
    if not window > 0.0:
        raise InputError(
            f"window is {window!r}; it must be a positive number of seconds.",
            field="window",
            value=window,
            allowed="a positive number",
        )
    touched = [*log.external, *log.contact_wrenches]
    if any(np.any(w) for w in (*log.external.values(), *log.contact_wrenches.values())):
        raise InputError(
            f"wrenches act on {', '.join(touched)} in the recording; identification needs a motion by its motors "
            "alone.",
            link=touched[0],
            field="external",
        )
    for name in model.joint_names:
        if name not in log.model.joint_names:
            raise unknown_name("joint of the recording", name, log.model.joint_names)
    q = np.concatenate([log.q[:, log.model.q_index(name)] for name in model.joint_names], axis=1)
    tau = np.concatenate([log.tau[:, log.model.v_index(name)] for name in model.joint_names], axis=1)
    return smoothed(model, log.t, q, of_motors(model, tau), window)


def _given(model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, tau: ArrayLike | None) -> Samples:
    """States of a caller, checked."""
    rows = [_rows(model, "q", q, model.nq)]
    for name, given in (("v", v), ("a", a), ("tau", tau)):
        if given is None:
            raise WrongTypeError(f"{name} is missing: give q, v, a and tau of all states, or a Log.", field=name)
        rows.append(_rows(model, name, given, model.nv))
        if len(rows[-1]) != len(rows[0]):
            raise InputError(
                f"{name} has {len(rows[-1])} rows, and q {len(rows[0])}; each needs one for each state.",
                field=name,
                value=len(rows[-1]),
                allowed=len(rows[0]),
            )
    for name, values in zip(("q", "v", "a", "tau"), rows, strict=True):
        if not np.isfinite(values).all():
            raise InputError(
                f"{name} is not finite in row {int(np.argwhere(~np.isfinite(values))[0][0])}.",
                field=name,
                value=int(np.argwhere(~np.isfinite(values))[0][0]),
                allowed="finite numbers",
            )
    of_motors(model, rows[3])
    positions, velocities, accelerations, efforts = rows
    count = len(positions)
    return Samples(np.arange(float(count)), positions, velocities, accelerations, efforts, np.zeros(count))


def of_motors(model: Model, tau: Array) -> Array:
    """Efforts, zero where there is no motor; refused where no motor has any."""
    found = np.zeros_like(tau)
    for name in model.actuated:
        own = tau[:, model.v_index(name)]
        if not np.isfinite(own).any():
            raise InputError(
                f"the efforts of joint {name!r} are missing; identification needs those of all motors.",
                joint=name,
                field="tau",
            )
        found[:, model.v_index(name)] = own
    if not np.any(found):
        raise InputError(
            f"the efforts of model {model.name!r} are all zero: nothing can be learnt from them.",
            field="tau",
            value=0.0,
        )
    return found


def _rows(model: Model, name: str, values: ArrayLike, width: int) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != width or not len(found):
        raise InputError(
            f"{name} has shape {found.shape}; states of model {model.name!r} need (N, {width}).",
            field=name,
            value=found.shape,
            allowed=f"(N, {width})",
        )
    return found
