# SPDX-License-Identifier: Apache-2.0
"""Controllers in a simulation: called at their own rate, or compiled into the equations of motion."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.expr import trace
from ada_dynamics.expr.printing import python_source
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.options import is_positive
from ada_dynamics.spatial.vector import Scalar

if TYPE_CHECKING:
    from ada_dynamics.simulation.log import Log

from ada_dynamics import expr
from ada_dynamics.dynamics.quantities.base import substitute
from ada_dynamics.expr import Function
from ada_dynamics.expr.derivatives import directional
from ada_dynamics.expr.graph import Expr
from ada_dynamics.model.tree import Tree

Controller = Callable[[float, Array, Array], Array]  # efforts of t, q and v


class ControllerError(AdaError, RuntimeError):
    """A controller failed, or gave efforts that cannot be used; `log` holds the motion until then."""

    log: Log | None = None


class CompiledController:
    """A control law over generic scalars, to be compiled.

    Without a control period it acts continuously, as part of the equations of motion; with one it is sampled.

    Example::

        def law(t, q, v):
            return [-5.0 * q[0] - 0.5 * v[0], 0.0]

        Simulation(model, controller=CompiledController(law))
    """

    def __init__(self, law: Callable[[Scalar, Sequence[Scalar], Sequence[Scalar]], Sequence[Scalar]]) -> None:
        """Args: the law, from time, positions and velocities to efforts; with + - * / and `ada_dynamics.expr` only."""
        self.law = law

    def kernel(self, model: Model) -> Kernel:
        """Compiled for a model, to be sampled."""
        inputs = {"t": 1, "q": model.nq, "v": model.nv}

        def body(t: Sequence[Scalar], q: Sequence[Scalar], v: Sequence[Scalar]) -> dict[str, list[Scalar]]:
            efforts = list(self.law(t[0], q, v))
            if len(efforts) != model.nv:
                raise InputError(
                    f"the control law gives {len(efforts)} efforts; model {model.name!r} needs {model.nv}, one for "
                    "each velocity."
                )
            return {"tau": efforts}

        function = trace("control_law", inputs, body)
        key = hashlib.blake2b(python_source(function).encode(), digest_size=16).hexdigest()
        return Kernel(Signature.of(function), lambda: function, f"control law {key}", checked=False)

    def tag(self, model: Model) -> str:
        """Differs for any two laws."""
        return self.kernel(model).key


@dataclass(frozen=True)
class ControlOptions:
    """A controller as a user gives it, checked.

    Attributes:
        controller: gives efforts; None without one.
        period: between two calls [s]; each step by default, and of a `CompiledController` continuously.
    """

    controller: Controller | CompiledController | None = None
    period: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        given: object = self.controller
        if given is not None and not callable(given) and not isinstance(given, CompiledController):
            raise InputError(
                f"controller is {given!r:.80}; it must be a function of t, q and v, or a CompiledController."
            )
        if self.period is not None and not is_positive(self.period):
            raise InputError(f"control_period is {self.period!r}; it must be a positive number of seconds, or None.")

    @property
    def law(self) -> CompiledController | None:
        """The law that acts continuously, within the equations of motion, if it is one."""
        return self.controller if isinstance(self.controller, CompiledController) and self.period is None else None

    def sampler(self, model: Model, step: float) -> Sampler | None:
        """The caller of the controller, if there is one."""
        if self.controller is None or self.law is not None:
            return None
        return Sampler(model, self.controller, float(self.period or step))


class Sampler:
    """Efforts from a controller, checked."""

    def __init__(self, model: Model, controller: Controller | CompiledController, period: float) -> None:
        """Args: model, controller, and the time between two calls [s]."""
        self.model = model
        self.period = period
        self._call = self._compiled(controller) if isinstance(controller, CompiledController) else controller

    def _compiled(self, controller: CompiledController) -> Controller:
        kernel = controller.kernel(self.model)
        return lambda t, q, v: np.asarray(kernel.single(np.array([t]), q, v))

    def efforts(self, t: float, q: Array, v: Array) -> Array:
        """Efforts from t on.

        Raises:
            ControllerError: the controller raised, or gave what is no vector of nv finite numbers.
        """
        try:
            given = self._call(t, q, v)
        except AdaError:
            raise
        except Exception as problem:
            raise ControllerError(
                f"the controller failed at t = {t:.6g} s: {type(problem).__name__}: {problem}"
            ) from problem
        try:
            tau = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ControllerError(
                f"the controller gave {given!r:.100} at t = {t:.6g} s; it must give {self.model.nv} numbers."
            ) from None
        if tau.shape != (self.model.nv,):
            raise ControllerError(
                f"the controller gave efforts of shape {tau.shape} at t = {t:.6g} s; model {self.model.name!r} needs "
                f"({self.model.nv},), one for each velocity (zeros for joints without motor)."
            )
        if not np.isfinite(tau).all():
            raise ControllerError(
                f"the controller gave {tau[~np.isfinite(tau)][0]} for {self._name(tau)} at t = {t:.6g} s; efforts "
                "must be finite."
            )
        return tau

    def _name(self, tau: Array) -> str:
        bad = int(np.argmin(np.isfinite(tau)))
        for name in self.model.joint_names:
            where = self.model.v_index(name)
            if where.start <= bad < where.stop:
                return f"joint {name!r}"
        return f"velocity {bad}"


Vector = Sequence[Scalar]
Law = Callable[[Scalar, Vector, Vector], Vector]  # τ of a time, q and v, over generic scalars


def implicit_law(
    tree: Tree, law: Law, t: Scalar, q: Vector, v: Vector, step: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """Efforts, and what they add to the armature of each velocity, on expression nodes.

    Args:
        tree: the mechanism.
        law: the control law.
        t: time [s].
        q: positions.
        v: velocities.
        step: h [s].
    """
    found = substitute(_with_slopes(tree, law), {"t": [t], "q": q, "v": v})
    efforts, armature = [], []
    for tau, by_q, by_v, rate in zip(found["tau"], found["by_q"], found["by_v"], v, strict=True):
        stiffness = expr.maximum(-by_q, 0.0)
        damping = expr.maximum(-by_v, 0.0)
        efforts.append(tau - step * (stiffness * rate))
        armature.append(step * (damping + step * stiffness))
    return efforts, armature


def _with_slopes(tree: Tree, law: Law) -> Function:
    """τ, and the slope of each effort by its own position and velocity; zero where these are not one number each."""
    places = [-1] * tree.nv
    for one in tree.bodies:
        if one.joint.nq == 1 and one.joint.nv == 1:
            places[one.v.start] = one.q.start

    def slope(effort: Scalar, variable: Scalar) -> Scalar:
        return directional([effort], {variable: 1.0})[0] if isinstance(variable, Expr) else 0.0

    def body(t: Vector, q: Vector, v: Vector) -> dict[str, list[Scalar]]:
        tau = list(law(t[0], q, v))
        by_q = [slope(effort, q[k]) if k >= 0 else 0.0 for effort, k in zip(tau, places, strict=True)]
        by_v = [slope(effort, rate) for effort, rate in zip(tau, v, strict=True)]
        return {"tau": tau, "by_q": by_q, "by_v": by_v}

    return trace("law_with_slopes", {"t": 1, "q": tree.nq, "v": tree.nv}, body)
