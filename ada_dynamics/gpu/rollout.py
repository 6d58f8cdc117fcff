# SPDX-License-Identifier: Apache-2.0
"""Rollouts on a device: one kernel per time step, states in device memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Expr, Function, Traced, trace
from ada_dynamics.expr.evaluation import evaluate_nodes, expand
from ada_dynamics.gpu.arrays import Device, DeviceArray
from ada_dynamics.gpu.batch_dynamics import device_of
from ada_dynamics.gpu.kernels import ThreadKernel, launch, put_rows
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.simulation.context import SimulationContext
from ada_dynamics.simulation.integrator import FAILURES, Integrator, explicit_step
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.system import System
from ada_dynamics.spatial.vector import Scalar

Vector = Sequence[Any]
_KERNELS: WeakKeyDictionary[SimulationContext, dict[str, ThreadKernel]] = WeakKeyDictionary()  # by device name


def step_quantity(system: System, method: Method, h: float) -> Quantity:
    """State after a time step h with closed loops: the integrator of `jit.integrator`, traced on expressions."""
    settle, size = system.settle, system.size

    def body(x: Vector, u: Vector) -> Traced:
        guards: list[Any] = []

        def run(kernel: Kernel, **arguments: Vector) -> Any:
            result, more = _applied(kernel.function, arguments)
            guards.extend(more)
            return _objects(result)

        def settled(state: Any) -> Any:
            return state if settle is None else run(settle, x=list(state), u=u)

        if method.is_direct:
            return Traced({"next": list(run(system.step, x=x, u=u, t=[0.0]))}, guards)
        rate: Callable[..., Any] = lambda state, t: run(system.rate, x=list(state), u=u, t=[t])  # noqa: E731
        return Traced({"next": list(settled(explicit_step(method, rate, _objects(x), 0.0, h)))}, guards)

    name = f"step_{method.name}"
    inputs = {"x": size, "u": system.equations.input_size}
    return Quantity(name, inputs, {"next": (size,)}, lambda: trace(name, inputs, body, ("next",)), body)


def _applied(function: Function, arguments: Mapping[str, Sequence[Scalar]]) -> tuple[list[Scalar], list[Scalar]]:
    """The result and the guards of a traced function with the nodes of another graph as arguments."""
    plain = expand(function)
    values = evaluate_nodes(plain.nodes(), arguments)
    (elements,) = plain.outputs.values()
    result = [values[x.index] if isinstance(x, Expr) else x for x in elements]
    return result, [values[guard.index] for guard in plain.guards]


def step_kernel(context: SimulationContext, device: Device) -> ThreadKernel:
    """Kernel of the time step of a simulation; cached."""
    kept = _KERNELS.setdefault(context, {})
    if device.name not in kept:
        system, method = context.system, context.method
        robust = system.robust()
        after = None if robust is None else _kernel_of(robust, method, context.step, device, over=64)
        kept[device.name] = _kernel_of(system, method, context.step, device, robust=after)
    return kept[device.name]


def _kernel_of(system: System, method: Method, h: float, device: Device, **more: Any) -> ThreadKernel:
    quantity = step_quantity(system, method, h)
    signature = Signature(quantity.name, tuple(quantity.inputs.items()), tuple(quantity.shapes.items()))
    parts = [system.step if method.is_direct else system.rate, system.settle]
    key = "|".join([quantity.name, h.hex(), *(part.key for part in parts if part is not None)])
    return ThreadKernel(signature, quantity.trace, key, device, **more)


def _objects(values: Vector) -> Any:
    """Object array of expressions."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


class DeviceRollout:
    """Simulation of many initial states on a device.

    Time steps that the kernel rejects are recomputed by the robust kernel on the device. Steps that this rejects, for
    instance near singular configurations, are recomputed on the CPU as in `Simulation.rollout`; for this each step is
    waited for. Combinations of redundant constraints are reused until they are ill-conditioned, which the kernel
    rejects, and are then selected again. The state of a simulation that cannot continue is NaN.

    Attributes:
        x: states [q; v] on the device, (N, nq + nv), in columns; a different array after each step.
        cpu_steps: number of time steps of single states that were computed on the CPU.
    """

    def __init__(self, context: SimulationContext, starts: Array, efforts: ArrayLike, device: str) -> None:
        """Initialize the states.

        Args:
            context: context of a simulation.
            starts: initial states (N, nq + nv) that satisfy the loop constraints.
            efforts: constant joint torques, (nv,) or (N, nv).
            device: name of the device.
        """
        system, method = context.system, context.method
        _refuse(context)
        self.device = device_of(device)
        self.cpu_steps, self._context = 0, context
        self._integrator = Integrator(system, method, context.integrator.tolerance)
        self.kernel = step_kernel(context, self.device)
        tau = np.atleast_2d(np.asarray(efforts, dtype=np.float64))
        tau = tau if tau.strides[0] else tau[:1]  # a broadcast row
        inputs = np.array([system.inputs(row, h=context.step) for row in tau])
        inputs = np.array(np.broadcast_to(inputs, (len(starts), inputs.shape[1])))
        weights = system.combination_weights(starts)
        if weights is not None:
            inputs[:, system.equations.combination_inputs] = weights
        self._u = self._placed(inputs)
        self.x, self._next = self._placed(starts), self._placed(starts)
        self._has_failed = np.zeros(len(starts), dtype=bool)

    def _placed(self, rows: Array) -> DeviceArray:
        return DeviceArray.of(self.device, rows, columns=True)

    def run(self, steps: int) -> None:
        """Advance all states by a number of time steps."""
        for _ in range(steps):
            arrays = {"x": self.x.view("x"), "u": self._u.view("u")}
            _, rejected = launch(self.kernel, arrays, [self._next])
            rows = rejected.rows()
            rows = rows[~self._has_failed[rows]]  # lost states are NaN and always rejected
            if len(rows):
                self._step_on_cpu(rows)
            self.x, self._next = self._next, self.x

    def _step_on_cpu(self, rows: Any) -> None:
        """Recompute the time step of some states on the CPU."""
        states, inputs = self.x.numpy()[rows], self._u.numpy()[rows]
        for row, state, u in zip(rows, states, inputs, strict=True):
            self._integrator.restart(state, u)
            try:
                self._integrator.advance(0.0, 0, 1, self._context.step, 0)
                state[:], u[:] = self._integrator.x, self._integrator.u
            except FAILURES:
                state[:], self._has_failed[row] = np.nan, True
        put_rows(self.device, self._next, rows, states)
        if self._context.system.equations.combination_size:
            put_rows(self.device, self._u, rows, inputs)
        self.cpu_steps += len(rows)


def _refuse(context: SimulationContext) -> None:
    """Raise InputError unless a time step is a function of the state and constant torques."""
    system, method = context.system, context.method
    why = ""
    if method.is_adaptive:
        why = f"integrator {method.name!r} has adaptive steps; use rk4, rkf45 or semi_implicit"
    elif not system.has_own_code:
        why = "its loop constraints need the rank-revealing solver"
    elif _depends_on_time(system.step if method.is_direct else system.rate):
        why = "its inputs depend on time"
    if why:
        raise InputError(f"model {system.model.name!r} cannot be simulated on a device: {why}")


def _depends_on_time(kernel: Kernel) -> bool:
    function = kernel.function
    (t,) = function.variables("t")
    return any(node is t for node in function.nodes())
