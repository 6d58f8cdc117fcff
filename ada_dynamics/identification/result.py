# SPDX-License-Identifier: Apache-2.0
"""Results of identification."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms.regressor import INERTIAL
from ada_dynamics.arrays import Array
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.identification.base_parameters import BaseParameters
from ada_dynamics.identification.regression import RegressionEquations
from ada_dynamics.identification.samples import WINDOW, MotionSamples, motion_samples
from ada_dynamics.model.edit import with_parts
from ada_dynamics.model.elements import Joint, Link
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import point_inertia
from ada_dynamics.simulation.log import Log

IDENTIFIED, IN_COMBINATIONS, NOT_EXCITED, NO_EFFECT = (
    "identified",
    "in combinations only",
    "not excited by this motion",
    "without effect",
)


class ParameterEstimate(NamedTuple):
    """Estimate of a parameter or of a combination of parameters.

    Attributes:
        name: name of the parameter, or expression of the combination.
        model: value in the original model.
        value: identified value.
        deviation: standard deviation; NaN if the parameter is not identified individually.
        status: "identified", "in combinations only", "not excited by this motion" or "without effect".
    """

    name: str
    model: float
    value: float
    deviation: float
    status: str

    @property
    def percent(self) -> float:
        """Standard deviation in % of the value."""
        return 100.0 * self.deviation / abs(self.value) if self.value else math.nan


class Fit(NamedTuple):
    """Measured and computed efforts.

    Attributes:
        t: times [s], (N,).
        measured: efforts of the joints, (N, m).
        computed: efforts of the joints, (N, m).
        certain: 1 for rows that count; 0 if the joint is almost at rest, so that the sign of its friction is uncertain.
    """

    t: Array
    measured: Array
    computed: Array
    certain: Array

    @property
    def percent(self) -> Array:
        """Root mean square of the residual in % of that of the measured efforts, (m,)."""
        parts = (self.certain * x for x in (self.measured - self.computed, self.measured))
        residual, size = (np.linalg.norm(x, axis=0) for x in parts)
        return np.asarray(100.0 * residual / np.where(size > 0.0, size, np.nan))

    def plot(self, joints: Sequence[str], path: str | os.PathLike[str] | None = None) -> Any:
        """Plot both over time, one panel for each joint, and return the matplotlib Figure.

        Args:
            joints: names of the joints, such as `Identification.joints`.
            path: file to write, or None.
        """
        from ada_dynamics.drawing.panels import Panel
        from ada_dynamics.drawing.plots import figure_of

        columns = zip(joints, self.measured.T, self.computed.T, self.percent, strict=True)
        return figure_of(
            [
                Panel.of(f"{joint}: residual {share:.2g} %", "[N m, N]", self.t, {"measured": y, "computed": x})
                for joint, y, x, share in columns
            ],
            path,
        )


@dataclass(frozen=True, eq=False)
class Identification(NotebookDisplay):
    """Identified parameters of a robot.

    Attributes:
        equations: equations of the free parameters.
        prior: values in the original model by name.
        values: identified values by name, physically consistent as a whole.
        base: combinations that efforts depend on.
        deviations: standard deviations of the combinations; NaN if the motion does not excite them.
        is_excited: True for each combination that the motion excites.
        noise: standard deviation of the residual effort of each row.
        condition: condition number of the excited combinations, each in its own units; above some hundred they are
            poorly distinguished.
        fit: efforts of the motion used for identification.
    """

    equations: RegressionEquations
    prior: Mapping[str, float]
    values: Mapping[str, float]
    base: BaseParameters
    deviations: Array
    is_excited: NDArray[np.bool_]
    noise: Array
    condition: float
    fit: Fit

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return self.equations.names

    @property
    def joints(self) -> tuple[str, ...]:
        """Name of the joint for each row of `fit` and `noise`."""
        return self.equations.rows

    @cached_property
    def model(self) -> Model:
        """Model with the identified parameters."""
        return model_with_parameters(self.equations.dynamics, self.values)

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Names of the combinations that the motion does not excite."""
        return tuple(name for name, shown in zip(self.base.names, self.is_excited, strict=True) if not shown)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Names of the parameters that no motion excites."""
        return tuple(self.names[k] for k in self.base.without_effect)

    def combinations(self) -> list[ParameterEstimate]:
        """Estimates of all base parameters."""
        before, now = (self.base.combine @ np.array(list(x.values())) for x in (self.prior, self.values))
        status = [IDENTIFIED if shown else NOT_EXCITED for shown in self.is_excited]
        columns = (self.base.names, before.tolist(), now.tolist(), self.deviations.tolist(), status)
        return [ParameterEstimate(*row) for row in zip(*columns, strict=True)]

    def parameters(self) -> list[ParameterEstimate]:
        """Estimates of all free parameters."""
        number, found = {index: k for k, index in enumerate(self.base.leading)}, []
        for index, name in enumerate(self.names):
            deviation, status = math.nan, IN_COMBINATIONS
            if index in self.base.without_effect:
                status = NO_EFFECT
            elif index in self.base.single:
                k = number[index]
                deviation, status = float(self.deviations[k]), IDENTIFIED if self.is_excited[k] else NOT_EXCITED
            found.append(ParameterEstimate(name, self.prior[name], self.values[name], deviation, status))
        return found

    def validate(
        self,
        motion: Log | ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        window: float = WINDOW,
    ) -> Fit:
        """Compare the efforts of another motion with those computed from the identified parameters.

        The arguments are those of `identify`.
        """
        samples = motion_samples(self.equations.dynamics.model, motion, v, a, tau, window)
        return fit_of(self.equations, samples, np.array(list(self.values.values())))


def fit_of(equations: RegressionEquations, samples: MotionSamples, values: Array) -> Fit:
    """Measured efforts of samples, and efforts computed with values of the free parameters."""
    Y, rhs = equations.of(samples)
    measured = equations.efforts(samples)
    return Fit(samples.t, measured, measured - (rhs - Y @ values), equations.certain(samples))


def model_with_parameters(dynamics: Dynamics, values: Mapping[str, float]) -> Model:
    """Return the model of `dynamics` with modified parameters.

    Links fixed to the link of a parameter keep their inertia if the remainder of that link is physically consistent;
    otherwise the link takes the inertia of all of them.

    Args:
        dynamics: dynamics of the model.
        values: new values by name of the parameter.

    Raises:
        UnknownNameError: a parameter does not exist.
    """
    model, before = dynamics.model, dynamics.parameters
    changed = {name: value for name, value in values.items() if value != before[name]}
    owners = {name.rpartition(".")[0] for name in changed}
    parts: dict[str, Link | Joint] = {}
    for owner in owners:
        own = {name.rpartition(".")[2]: value for name, value in changed.items() if name.rpartition(".")[0] == owner}
        inertial = {kind: own.pop(kind) for kind in INERTIAL if kind in own}
        if inertial:
            was = np.array([before[f"{owner}.{kind}"] for kind in INERTIAL])
            now = np.array([inertial.get(kind, x) for kind, x in zip(INERTIAL, was, strict=True)])
            parts.update(_links(model, owner, was, now))
        if own:
            parts[f"joint {owner}"] = replace(model.joints[owner], **own)  # type: ignore[arg-type]
    return with_parts(model, *parts.values())


def _links(model: Model, carried: str, was: Array, now: Array) -> dict[str, Link]:
    """Links of a body with modified parameters."""
    link = model.links[carried]
    mass, com, inertia = _central(_about_origin(link) + now - was)
    moments = np.linalg.eigvalsh(inertia)
    if mass > 0.0 and moments[0] >= 0.0 and moments[0] + moments[1] >= moments[2]:
        return {carried: replace(link, mass=mass, com=com, inertia=inertia, has_inertial=True)}
    mass, com, inertia = _central(now)
    empty: Any = {"mass": 0.0, "com": np.zeros(3), "inertia": np.zeros((3, 3)), "has_inertial": False}
    found = {name: replace(model.links[name], **empty) for name in _fixed_to(model, carried)}
    return {**found, carried: replace(link, mass=mass, com=com, inertia=inertia, has_inertial=True)}


def _fixed_to(model: Model, link: str) -> list[str]:
    found: list[str] = []
    for joint in model.joints.values():
        if joint.parent in (link, *found) and not joint.type.nv:
            found.append(joint.child)
    return found


def _about_origin(link: Link) -> Array:
    """Ten inertial parameters about the link origin."""
    c = link.com
    I = link.inertia + point_inertia(link.mass, c)
    return np.array([link.mass, *(link.mass * c), I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])


def _central(values: Array) -> tuple[float, Array, Array]:
    """Mass, center of mass, and inertia about it."""
    mass = float(values[0])
    c = values[1:4] / mass if mass else np.zeros(3)
    xx, xy, xz, yy, yz, zz = values[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return mass, c, I - point_inertia(mass, c)
