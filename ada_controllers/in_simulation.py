# SPDX-License-Identifier: Apache-2.0
"""Controllers in `ada.Simulation`, called with a fixed period."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.state import Reference, State
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import JointServos, Simulation

References = Callable[[float], "Reference | None"]
Sensor = Callable[[Simulation], Array]


class InSimulation:
    """Runs a controller in a simulation and records its signals.

    Example::

        loop = InSimulation(controller, reference=lambda t: desired)
        sim = loop.simulation(model, q, step=1e-3)
        log = sim.run(3.0)
        loop.times, loop.signals["error"]       # one row per call

    Efforts act on the joints directly; positions and velocities are setpoints of the simulated servos.

    Attributes:
        controller: controller.
        period: control period [s].
        sim: simulation, after the call of `simulation`.
    """

    def __init__(
        self,
        controller: Controller[Any],
        reference: Reference | References | None = None,
        *,
        period: float = 1e-3,
        sensor: Sensor | None = None,
        state: Callable[[Array, Array], State] | None = None,
    ) -> None:
        """Store the configuration.

        Args:
            controller: controller.
            reference: reference, or a function of time that returns it; None to hold the start.
            period: control period [s].
            sensor: returns [f, n] measured in the simulation.
            state: converts the simulated q and v to a state, if the model of the controller differs.
        """
        self.controller, self.period = controller, period
        self._reference, self._sensor, self._state = reference, sensor, state
        self.sim: Simulation | None = None
        self._times: list[float] = []
        self._rows: list[dict[str, Array]] = []
        self._commanded: Array = np.zeros(0)  # last position setpoints of the servos

    def simulation(self, model: Model, q: Array | None = None, v: Array | None = None, **options: Any) -> Simulation:
        """Create a simulation with the controller; arguments as in `Simulation`."""
        if self.controller.KIND != "effort":
            options.setdefault("servos", JointServos())
        self._nv = model.nv
        self._v_index = np.array([model.v_index(name).start for name in self.controller.joints], dtype=np.intp)
        self.sim = Simulation(model, q, v, controller=self._call, control_period=self.period, **options)
        return self.sim

    @property
    def times(self) -> Array:
        """Times of the calls [s]."""
        return np.array(self._times)

    @property
    def signals(self) -> Mapping[str, Array]:
        """Signals and commands of the controller at these times, by name; missing values are NaN."""
        sizes = {name: np.shape(values) for row in self._rows for name, values in row.items()}
        missing = {name: np.full(shape, np.nan) for name, shape in sizes.items()}
        return {name: np.array([row.get(name, missing[name]) for row in self._rows]) for name in sizes}

    def _call(self, t: float, q: Array, v: Array) -> Array:
        state = State(q, v) if self._state is None else self._state(q, v)
        if self.sim is None:
            raise InputError("InSimulation: create the simulation by the method `simulation`.")
        if self._sensor is not None:
            state = state._replace(wrench=self._sensor(self.sim))
        controller = self.controller
        if not self._times or t < self._times[-1]:  # the simulation was reset
            self._times, self._rows = [], []
            controller.reset(state, t)
            self._commanded = state.q[controller.q_index]
        reference = self._reference(t) if callable(self._reference) else self._reference
        command = controller.update(state, reference, t)
        self._times.append(t)
        commanded = {mode.value: values for mode, values in command.given().items()}
        # copies, because the law may reuse its arrays
        self._rows.append({name: np.array(values) for name, values in {**controller.signals(), **commanded}.items()})
        efforts = np.zeros(self._nv)
        position, velocity, effort = command.position, command.velocity, command.effort
        if position is None and velocity is None:
            if effort is not None:
                efforts[self._v_index] = effort
            return efforts
        if position is None:  # integrate the velocity from the last command
            position = self._commanded + velocity * self.period  # type: ignore[operator]
        self._commanded, servos = position, self.sim.servos
        rows = servos.rows(controller.joints)
        servos.hold(position, 0.0 if velocity is None else velocity, 0.0 if effort is None else effort, rows)
        return efforts


def by_joint_names(model: Model, simulated: Model) -> Callable[[Array, Array], State]:
    """Return a conversion of simulated states for a controller with another model, by joint names.

    Args:
        model: model of the controller.
        simulated: simulated model.

    Raises:
        InputError: if the simulated robot lacks a joint, or has it with another type.
    """
    names = [name for name in model.joint_names if model.joints[name].nv]
    for name in names:
        other = simulated.joints.get(name)
        if other is None or (other.nq, other.nv) != (model.joints[name].nq, model.joints[name].nv):
            text = (
                f"joint {name!r} of the controller's robot {model.name!r} is missing in {simulated.name!r}, or of "
                "another type; both must have the same joints."
            )
            raise InputError(text, joint=name, field="model", value=simulated.name)
    q_of = np.concatenate([np.arange(simulated.nq)[simulated.q_index(name)] for name in names])
    v_of = np.concatenate([np.arange(simulated.nv)[simulated.v_index(name)] for name in names])
    return lambda q, v: State(q[q_of], v[v_of])
