# SPDX-License-Identifier: Apache-2.0
"""Selection of the free parameters, and of the names of base parameters."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.algorithms.regressor import INERTIAL, OF_JOINT
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, WrongTypeError, unknown_name
from ada_dynamics.model.model import Model


def dynamics_of(robot: Model | Dynamics) -> Dynamics:
    """Dynamics of the robot given by a caller."""
    if isinstance(robot, Dynamics):
        return robot
    given: object = robot
    if not isinstance(given, Model):
        raise WrongTypeError(
            f"the robot is {given!r:.100}; identification needs a Model or a Dynamics.", field="robot", value=given
        )
    return Dynamics(given)


def free_parameters(dynamics: Dynamics, wanted: str | Sequence[str] | None) -> NDArray[np.intp]:
    """Indices of the free parameters; see `identify`.

    Raises:
        UnknownNameError: a pattern matches no parameter.
        InputError: no parameter is selected.
    """
    names = list(dynamics.parameters)
    floating = dynamics.model.floating_joint  # it has no rotor and no friction
    available = [name for name in names if name.rpartition(".")[0] != floating]
    if wanted is None:
        chosen = {name for name in available if _is_default(dynamics, name)}
    else:
        patterns = [wanted] if isinstance(wanted, str) else list(wanted)
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in available):
                raise unknown_name("parameter", pattern, available)
        chosen = {name for name in available if any(fnmatchcase(name, pattern) for pattern in patterns)}
    if not chosen:
        raise InputError(
            f"parameters is {wanted!r:.100}, which selects none of model {dynamics.model.name!r}. Give names with * "
            "and ?, such as 'link_7.*', or omit it for the default ones.",
            field="parameters",
            value=wanted,
        )
    return np.array([k for k, name in enumerate(names) if name in chosen], dtype=np.intp)


def _is_default(dynamics: Dynamics, name: str) -> bool:
    owner, _, kind = name.rpartition(".")
    if dynamics.parameters[name]:
        return True
    if kind in INERTIAL:
        return dynamics.parameters[f"{owner}.mass"] > 0.0
    return kind in OF_JOINT and owner in dynamics.model.actuated


def shared_parameters(model: Model) -> set[str]:
    """Parameters that neighbouring bodies share, as a revolute joint is invariant to shifts along its axis."""
    found = set()
    for name in model.joint_names:
        joint = model.joints[name]
        k = int(np.argmax(np.abs(joint.axis)))
        across = "xyz"[(k + 2) % 3]
        found |= {f"{joint.child}.m{'xyz'[k]}", f"{joint.child}.I{across}{across}"}
    return found
