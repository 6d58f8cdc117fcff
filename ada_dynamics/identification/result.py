# SPDX-License-Identifier: Apache-2.0
"""Parameters of a robot, as identified from motions."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.identification.base_parameters import BaseParameters
from ada_dynamics.identification.equations import Equations
from ada_dynamics.identification.identified_model import with_parameters
from ada_dynamics.identification.motion import WINDOW, samples_of
from ada_dynamics.identification.smoothing import Samples
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log

IDENTIFIED, IN_COMBINATIONS, NOT_SHOWN, NO_EFFECT = (
    "identified",
    "in combinations only",
    "not shown by this motion",
    "without effect",
)


class Row(NamedTuple):
    """One parameter, or one combination.

    Attributes:
        name: of it.
        model: its value in the model that was given.
        value: identified.
        deviation: standard deviation; nan where it is not identified by itself.
        status: identified, in combinations only, not shown by this motion, without effect.
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
    """Efforts measured and computed.

    Attributes:
        t: times [s].
        measured: efforts of the joints of `rows`, (N, m).
        computed: likewise.
        certain: 1 for rows that count, 0 for those of a joint that nearly stands: the sign of its friction is open.
    """

    t: Array
    measured: Array
    computed: Array
    certain: Array

    @property
    def percent(self) -> Array:
        """Root mean square of the difference in % of that of the measured efforts, (m,)."""
        parts = (self.certain * x for x in (self.measured - self.computed, self.measured))
        left, size = (np.linalg.norm(x, axis=0) for x in parts)
        return np.asarray(100.0 * left / np.where(size > 0.0, size, np.nan))

    def plot(self, joints: Sequence[str], path: str | os.PathLike[str] | None = None) -> Any:
        """Draw them over time, a panel for each joint. Returns matplotlib's Figure.

        Args:
            joints: names, such as `Identification.joints`.
            path: file to write; none where None.
        """
        from ada_dynamics.drawing.panels import Panel
        from ada_dynamics.drawing.plots import figure_of

        columns = zip(joints, self.measured.T, self.computed.T, self.percent, strict=True)
        return figure_of(
            [
                Panel.of(f"{joint}: {left:.2g} % left", "[N m, N]", self.t, {"measured": y, "computed": x})
                for joint, y, x, left in columns
            ],
            path,
        )


@dataclass(frozen=True, eq=False)
class Identification(NotebookDisplay):
    """Parameters of a robot, from its motion.

    Attributes:
        equations: whose parameters, and how they were asked for.
        prior: their values in the model that was given.
        values: by name, identified; all of them together are a machine that can be.
        base: the combinations that efforts depend on.
        deviations: standard deviations of the combinations; nan where the motion does not show them.
        is_shown: which combinations the motion shows.
        noise: standard deviation of what is left of each row's effort.
        condition: of the combinations that are shown, each in its own units; above some hundred they are distinguished
            badly.
        fit: efforts of the motion that it was found from.
    """

    equations: Equations
    prior: Mapping[str, float]
    values: Mapping[str, float]
    base: BaseParameters
    deviations: Array
    is_shown: NDArray[np.bool_]
    noise: Array
    condition: float
    fit: Fit

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters that were asked for."""
        return self.equations.names

    @property
    def joints(self) -> tuple[str, ...]:
        """The joint of each row of `fit`, `noise` and of residuals."""
        return self.equations.rows

    @cached_property
    def model(self) -> Model:
        """The robot with the identified parameters."""
        return with_parameters(self.equations.dynamics, self.values)

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Combinations that the motion does not show, by name; a better one would."""
        return tuple(name for name, shown in zip(self.base.names, self.is_shown, strict=True) if not shown)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters that no motion of this robot shows."""
        return tuple(self.names[k] for k in self.base.without_effect)

    def combinations(self) -> list[Row]:
        """A row for each base parameter."""
        before, now = (self.base.combine @ np.array(list(x.values())) for x in (self.prior, self.values))
        status = [IDENTIFIED if shown else NOT_SHOWN for shown in self.is_shown]
        columns = (self.base.names, before.tolist(), now.tolist(), self.deviations.tolist(), status)
        return [Row(*row) for row in zip(*columns, strict=True)]

    def parameters(self) -> list[Row]:
        """A row for each parameter that was free."""
        alone, found = dict(zip(self.base.leading, range(len(self.base.leading)), strict=True)), []
        for place, name in enumerate(self.names):
            deviation, status = math.nan, IN_COMBINATIONS
            if place in self.base.without_effect:
                status = NO_EFFECT
            elif place in self.base.alone:
                k = alone[place]
                deviation, status = float(self.deviations[k]), IDENTIFIED if self.is_shown[k] else NOT_SHOWN
            found.append(Row(name, self.prior[name], self.values[name], deviation, status))
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
        """Efforts of another motion, measured and computed by the identified parameters; `percent` says how far off.

        The arguments are those of `identify`.
        """
        samples = samples_of(self.equations.dynamics.model, motion, v, a, tau, window)
        return fit_of(self.equations, samples, np.array(list(self.values.values())))


def fit_of(equations: Equations, samples: Samples, values: Array) -> Fit:
    """Efforts of samples, measured and computed with these values of the free parameters."""
    Y, wanted = equations.of(samples)
    measured = equations.efforts(samples)
    return Fit(samples.t, measured, measured - (wanted - Y @ values), equations.certain(samples))
