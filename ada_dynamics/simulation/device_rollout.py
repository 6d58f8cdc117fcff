# SPDX-License-Identifier: Apache-2.0
"""Many motions on a device: a step is one kernel, and states stay there from step to step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.on_device import machine_of
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.dynamics.quantities.threads import applied
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Traced, trace
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.jit.device_array import DeviceArray
from ada_dynamics.jit.marching import MarchState
from ada_dynamics.jit.thread_batch import launch, put_rows, rows_of
from ada_dynamics.jit.thread_kernel import ThreadKernel
from ada_dynamics.jit.threads import Machine
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.motion import Motion
from ada_dynamics.simulation.number_march import NumberMarch
from ada_dynamics.simulation.stepper import LOST, Stepper
from ada_dynamics.simulation.system import System

Vector = Sequence[Any]
_KERNELS: WeakKeyDictionary[Motion, dict[str, ThreadKernel]] = WeakKeyDictionary()  # by machine


def step_quantity(system: System, method: Method, h: float) -> Quantity:
    """x after a step of length h, loops closed again: the lines of `jit.marching`, run on expressions."""
    settle, size = system.settle, system.size

    def body(x: Vector, u: Vector) -> Traced:
        guards: list[Any] = []

        def run(kernel: Kernel, **arguments: Vector) -> Any:
            results, more = applied(kernel.function, arguments)
            guards.extend(more)
            (result,) = results.values()
            return _objects(result)

        def settled(state: Any) -> Any:
            return state if settle is None else run(settle, x=list(state), u=u)

        if method.is_direct:
            return Traced({"next": list(run(system.step, x=x, u=u, t=[0.0]))}, guards)
        s = MarchState(n=size, used=size, stages=method.stages, every=1, h=h)
        rate: Callable[..., Any] = lambda state, t: run(system.rate, x=list(state), u=u, t=[t])  # noqa: E731
        march = NumberMarch(s, _objects(x), method.table(), rate, None if settle is None else settled)
        march.step()
        return Traced({"next": list(march.x)}, guards)

    name = f"step_{method.name}"
    inputs = {"x": size, "u": system.equations.input_size}
    return Quantity(name, inputs, {"next": (size,)}, lambda: trace(name, inputs, body, ("next",)))


def step_kernel(motion: Motion, machine: Machine) -> ThreadKernel:
    """The kernel of a simulation's steps, made once."""
    kept = _KERNELS.setdefault(motion, {})
    if machine.name not in kept:
        kept[machine.name] = _step_kernel(motion, machine)
    return kept[machine.name]


def _step_kernel(motion: Motion, machine: Machine) -> ThreadKernel:
    system, method = motion.system, motion.method
    robust = system.robust()
    after = None if robust is None else _kernel_of(robust, method, motion.step, machine, over=64)
    return _kernel_of(system, method, motion.step, machine, robust=after)


def _kernel_of(system: System, method: Method, h: float, machine: Machine, **more: Any) -> ThreadKernel:
    quantity = step_quantity(system, method, h)
    signature = Signature(quantity.name, tuple(quantity.inputs.items()), tuple(quantity.shapes.items()))
    parts = [system.step if method.is_direct else system.rate, system.settle]
    key = "|".join([quantity.name, h.hex(), *(part.key for part in parts if part is not None)])
    return ThreadKernel(signature, quantity.trace, key, machine, **more)


def _objects(values: Vector) -> Any:
    """Expressions as an array, which numpy does not look into."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


class DeviceMotions:
    """Motions from many starts on a device.

    A state that a step's kernel refuses takes it by the robust order of elimination, on the device, too. What that
    refuses, as near singular poses, takes that step here and goes back, as in `Simulation.rollout`; so each step is
    waited for. Combinations of redundant conditions stay as they are until they are worn out, which stops the kernel,
    too; then new ones are chosen. A motion that cannot go on is lost: nan from there on.

    Attributes:
        x: states [q; v] on the device, (N, nq + nv), in columns; it is another array after each step.
        careful: steps of single states that were taken here.
    """

    def __init__(self, motion: Motion, starts: Array, efforts: ArrayLike, device: str) -> None:
        """Args: a simulation's motion; states (N, nq + nv), on their loops; efforts (nv,) or (N, nv); the device."""
        system, method = motion.system, motion.method
        _refuse(motion)
        self.machine = machine_of(device)
        self.careful, self._motion = 0, motion
        self._stepper = Stepper(system, method, motion.stepper.tolerance)
        self.kernel = step_kernel(motion, self.machine)
        tau = np.atleast_2d(np.asarray(efforts, dtype=np.float64))
        tau = tau if tau.strides[0] else tau[:1]  # the same of all
        inputs = np.array([system.inputs(row, h=motion.step) for row in tau])
        inputs = np.array(np.broadcast_to(inputs, (len(starts), inputs.shape[1])))
        self._choose(starts, inputs)
        self._u = self._placed(inputs)
        self.x, self._next = self._placed(starts), self._placed(starts)
        self._is_lost = np.zeros(len(starts), dtype=bool)

    def _choose(self, states: Array, inputs: Array) -> bool:
        """Put combinations that suit the states into inputs; False where none are needed."""
        system, goes_on = self._motion.system, np.isfinite(states).all(axis=1)
        chosen = system.chosen(states[goes_on]) if goes_on.any() else None
        if chosen is not None:
            inputs[goes_on, system.equations.chosen] = chosen
        return chosen is not None

    def _placed(self, rows: Array) -> DeviceArray:
        found = DeviceArray.empty(self.machine, rows.shape, np.dtype(np.float64), True, 0)
        columns = np.ascontiguousarray(rows.T)
        self.machine.to_device(found.block.address, columns, 0)
        self.machine.wait(0)
        return found

    def run(self, steps: int) -> None:
        """Take steps."""
        for _ in range(steps):
            arrays = {"x": self.x.given("x"), "u": self._u.given("u")}
            _, refused = launch(self.kernel, arrays, [self._next.given("next")], 0)
            rows = refused.rows()
            rows = rows[~self._is_lost[rows]]  # which a kernel refuses, and leaves nan
            if len(rows):
                self._step_here(rows)
            self.x, self._next = self._next, self.x

    def _step_here(self, rows: Any) -> None:
        """The step of some states, on numbers where kernels stop."""
        states: Array = np.asarray(rows_of(self.machine, self.x.given("x"), rows, 0), dtype=np.float64)
        inputs: Array = np.asarray(rows_of(self.machine, self._u.given("u"), rows, 0), dtype=np.float64)
        for row, state, u in zip(rows, states, inputs, strict=True):
            self._stepper.restart(state)
            self._stepper.u = u
            try:
                self._stepper.march(0.0, 0, 1, self._motion.step, 0)
                state[:] = self._stepper.x
            except LOST:
                state[:], self._is_lost[row] = np.nan, True
        put_rows(self.machine, self._next, rows, states, 0)
        if self._choose(states, inputs):
            put_rows(self.machine, self._u, rows, inputs, 0)
        self.careful += len(rows)


def _refuse(motion: Motion) -> None:
    """Raise where a step is no function of the state and constant efforts alone."""
    system, method = motion.system, motion.method
    why = ""
    if method.is_adaptive:
        why = f"integrator {method.name!r} chooses its steps; take rk4, rkf45 or semi_implicit"
    elif not system.has_own_code:
        why = "its loops are solved on numbers"
    elif _depends_on_time(system.step if method.is_direct else system.rate):
        why = "what acts on it depends on time"
    if why:
        raise InputError(f"motions of model {system.model.name!r} cannot be computed on a device: {why}.")


def _depends_on_time(kernel: Kernel) -> bool:
    function = kernel.function
    (t,) = function.variables("t")
    return any(node is t for node in function.nodes())
