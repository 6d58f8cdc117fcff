# SPDX-License-Identifier: Apache-2.0
"""Simulation of a scenario, and measures of its motion."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.methods import IntegratorName
from ada_tools.scenario.control import control_loop
from ada_tools.scenario.fields import ScenarioError, refusal
from ada_tools.scenario.loads import contact_of, wrenches_on
from ada_tools.scenario.registry import Measured, find_measure
from ada_tools.scenario.scenario import AUTO, Scenario, SimulationPart
from ada_tools.scenario.states import build_model, efforts, start_state

if TYPE_CHECKING:
    from ada_controllers.in_simulation import InSimulation
    from ada_dynamics.contact.stops import JointStops
    from ada_dynamics.simulation import Log, Simulation

BEYOND = 1e-6  # [rad, m] tolerance of position limits


def simulation_of(scenario: Scenario) -> Simulation:
    """Simulation of a scenario at its initial state.

    Raises:
        ScenarioError: the scenario has no simulation, or a value does not fit the robot.
    """
    return _set_up(scenario)[0]


def _set_up(scenario: Scenario) -> tuple[Simulation, InSimulation | None]:
    """Simulation of a scenario, and its control loop if it has a controller."""
    from ada_dynamics.simulation import Simulation

    part = _part(scenario)
    model = build_model(scenario)
    q, v = checked_start(scenario, model)
    tau = efforts(scenario, model)
    more: dict[str, Any] = {}
    stops = _stops(part, model)
    if stops is not None:
        more["stops"] = stops
    try:
        if part.algorithm == "hybrid":
            more["dynamics"] = _hybrid(part, model)
        else:
            more["algorithm"] = part.algorithm
        loop = None if scenario.control is None else control_loop(scenario, model, q)
        make = Simulation if loop is None else loop.simulation
        simulation = make(
            model,
            q,
            v,
            integrator=cast("IntegratorName", part.integrator),
            step=part.step,
            contact=None if part.contact is None else contact_of(part.contact, model),
            tau=tau if tau.any() else None,
            external=wrenches_on(scenario, model),
            tolerance=part.tolerance,
            log_every=part.log_every,
            **more,
        )
        return simulation, loop
    except ScenarioError:
        raise
    except AdaError as problem:
        raise refusal(scenario.file, "simulation", problem) from None


def checked_start(scenario: Scenario, model: Model) -> tuple[Array, Array]:
    """Initial configuration and velocity of a simulation.

    Raises:
        ScenarioError: they do not fit the robot, or exceed its joint stops.
    """
    from ada_dynamics.contact.stops import limit_violations, limited_joints

    q, v = start_state(scenario, model)
    if _part(scenario).stops is None or not limited_joints(model):
        return q, v
    beyond = {name: over for name, over in limit_violations(model, q).items() if over > BEYOND}
    if beyond:
        name, over = next(iter(beyond.items()))
        text = (
            f"{scenario.file}: start: joint {name!r} is {over:.3g} [rad, m] beyond its limits. Change the start, or "
            "disable the stops: simulation: {stops: none}."
        )
        raise ScenarioError(text, file=scenario.file, joint=name, field="start", value=over)
    return q, v


def _stops(part: SimulationPart, model: Model) -> JointStops | None:
    """Joint stops; the same stiffness for all initial states, so that they share a kernel."""
    from ada_dynamics.contact.stops import JointStops, limited_joints

    if part.stops is None or not limited_joints(model):
        return None
    return JointStops.for_model(model, part.step) if part.stops == AUTO else JointStops(*part.stops)


def _hybrid(part: SimulationPart, model: Model) -> Any:
    from ada_dynamics.dynamics import Dynamics

    return Dynamics(model, "hybrid", hybrid=part.hybrid or "auto")


def _part(scenario: Scenario) -> SimulationPart:
    if scenario.simulation is None:
        words = f"{scenario.file}: simulation: missing; the scenario has only an experiment."
        raise ScenarioError(words, file=scenario.file, field="simulation")
    return scenario.simulation


def simulate(
    scenario: Scenario,
    record: str | os.PathLike[str] | None = None,
    progress: str | Callable[[float, str], None] | None = None,
) -> Log:
    """Run the simulation of a scenario.

    Args:
        scenario: scenario from `load`.
        record: path of an .mcap file written during the simulation.
        progress: None, "auto", or a function of the completed fraction and a text.

    Raises:
        ScenarioError: the scenario does not fit its robot.
    """
    simulation, loop = _set_up(scenario)
    log = simulation.run(_part(scenario).duration, record=record, progress=progress)
    if loop is not None:
        log.signals, log.signal_times = loop.signals, loop.times
    return log


def measure(scenario: Scenario, log: Log, names: Iterable[str] | None = None) -> dict[str, Measured]:
    """Measures of a motion.

    Args:
        scenario: simulated scenario.
        log: result of `simulate`.
        names: names of measures; default: those of the claims.

    Returns:
        By name a value, or values by name.

    Raises:
        InputError: unknown measure.
    """
    wanted = [claim.measure for claim in scenario.claims] if names is None else names
    found: dict[str, Measured] = {}
    for name in dict.fromkeys(wanted):
        value = find_measure(name).function(scenario, log)
        if isinstance(value, Mapping):
            found[name] = {part: float(number) for part, number in value.items()}
        else:
            found[name] = float(np.asarray(value))
    return found
