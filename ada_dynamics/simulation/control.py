# SPDX-License-Identifier: Apache-2.0
"""Controllers of a simulation: sampled functions, or control laws compiled into the equations of motion.

A compiled control law in a semi-implicit step is linearly implicit in the position and velocity of its joint. With
K = -∂τ/∂q and D = -∂τ/∂v, the torque at the end of a step h with the acceleration a is τ - h K v - (h D + h² K) a to
first order. The last term is an armature: a stiff spring or damper on a light joint is stable. Negative K or D are
explicit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError, invalid
from ada_dynamics.expr import trace
from ada_dynamics.expr.derivatives import directional
from ada_dynamics.expr.evaluation import substitute
from ada_dynamics.expr.graph import Expr
from ada_dynamics.expr.printing import python_source
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.options import finite_array, is_positive
from ada_dynamics.spatial.vector import Scalar

if TYPE_CHECKING:
    from ada_dynamics.simulation.log import Log

Controller = Callable[[float, Array, Array], Array]  # efforts of t, q and v
Vector = Sequence[Scalar]
Law = Callable[[Scalar, Vector, Vector], Vector]  # τ of a time, q and v, over generic scalars


class ControllerError(AdaError, RuntimeError):
    """A controller failed or returned invalid torques.

    Attributes:
        log: log up to that time.
    """

    log: Log | None = None


class CompiledController:
    """Control law over generic scalars that is compiled.

    Without a control period it acts continuously, as part of the equations of motion; with one it is sampled.

    Example::

        def law(t, q, v):
            return [-5.0 * q[0] - 0.5 * v[0], 0.0]

        Simulation(model, controller=CompiledController(law))
    """

    def __init__(self, law: Law) -> None:
        """Initialize the controller.

        Args:
            law: function of time, configuration and velocity that returns joint torques, with + - * / and functions of
                `ada_dynamics.expr`.
        """
        self.law = law

    def kernel(self, model: Model) -> Kernel:
        """Return the compiled law for a model."""
        inputs = {"t": 1, "q": model.nq, "v": model.nv}

        def body(t: Vector, q: Vector, v: Vector) -> dict[str, list[Scalar]]:
            efforts = list(self.law(t[0], q, v))
            if len(efforts) != model.nv:
                raise InputError(
                    f"the control law returns {len(efforts)} torques; model {model.name!r} needs {model.nv}, one per "
                    "velocity.",
                    field="controller",
                    allowed=model.nv,
                )
            return {"tau": efforts}

        function = trace("control_law", inputs, body)
        key = hashlib.blake2b(python_source(function).encode(), digest_size=16).hexdigest()
        return Kernel(Signature.of(function), lambda: function, f"control law {key}", checked=False)


def continuous_law(
    controller: Controller | CompiledController | None, period: float | None, tau: ArrayLike | None
) -> CompiledController | None:
    """Return the control law that acts continuously; None if the controller is sampled.

    Args:
        controller: function that returns joint torques; None for no controller.
        period: time between two calls [s]; None for one call per step, or for a continuous `CompiledController`.
        tau: constant joint torques, which a sampled controller excludes.
    """
    given: object = controller
    if given is not None and not callable(given) and not isinstance(given, CompiledController):
        raise invalid("controller", given, "a function of t, q and v, or a CompiledController")
    if period is not None and not is_positive(period):
        raise invalid("control_period", period, "a positive number of seconds, or None")
    law = controller if isinstance(controller, CompiledController) and period is None else None
    if tau is not None and controller is not None and law is None:
        raise InputError("tau and controller are both given; joint torques come from one of them.", field="tau")
    return law


def checked_controller(controller: Controller | CompiledController, model: Model) -> Controller:
    """Return the controller as a function whose torques are checked.

    The function raises a ControllerError if the controller raised an error, or did not return nv finite numbers.
    """
    call: Any = controller
    if isinstance(controller, CompiledController):
        kernel = controller.kernel(model)
        call = lambda t, q, v: np.asarray(kernel.single(np.array([t]), q, v))  # noqa: E731

    def efforts(t: float, q: Array, v: Array) -> Array:
        try:
            given = call(t, q, v)
        except AdaError:
            raise
        except Exception as problem:
            raise ControllerError(
                f"the controller failed at t = {t:.6g} s: {type(problem).__name__}: {problem}"
            ) from problem
        try:
            return finite_array("torques", given, (model.nv,), where=f"the controller at t = {t:.6g} s: ")
        except InputError as problem:
            raise ControllerError(str(problem)) from None

    return efforts


def implicit_law(
    tree: Tree, law: Law, t: Scalar, q: Vector, v: Vector, step: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the torques of a control law at time t, and the armature that makes them implicit in a step h."""
    places = {body.v.start: body.q.start for body in tree.bodies if body.joint.nq == body.joint.nv == 1}

    def slope(effort: Scalar, variable: Scalar) -> Scalar:
        return directional([effort], {variable: 1.0})[0] if isinstance(variable, Expr) else 0.0

    def with_slopes(t: Vector, q: Vector, v: Vector) -> dict[str, list[Scalar]]:
        tau = list(law(t[0], q, v))
        by_q = [slope(effort, q[places[i]]) if i in places else 0.0 for i, effort in enumerate(tau)]
        return {"tau": tau, "by_q": by_q, "by_v": [slope(effort, rate) for effort, rate in zip(tau, v, strict=True)]}

    # a graph of its own has slopes for arguments that are numbers, too
    function = trace("law_with_slopes", {"t": 1, "q": tree.nq, "v": tree.nv}, with_slopes)
    found = substitute(function, {"t": [t], "q": q, "v": v})
    efforts, armature = [], []
    for tau, by_q, by_v, rate in zip(found["tau"], found["by_q"], found["by_v"], v, strict=True):
        stiffness = expr.maximum(-by_q, 0.0)
        damping = expr.maximum(-by_v, 0.0)
        efforts.append(tau - step * (stiffness * rate))
        armature.append(step * (damping + step * stiffness))
    return efforts, armature
