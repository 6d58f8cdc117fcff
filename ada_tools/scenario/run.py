# SPDX-License-Identifier: Apache-2.0
"""Simulation of a scenario with its controller, disturbances and contact, and measures of its motion."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load as load_robot
from ada_dynamics.simulation.methods import IntegratorName
from ada_dynamics.spatial.orientation import pose_of
from ada_robot.settings import fields_of
from ada_tools.scenario import units
from ada_tools.scenario.fields import Part, ScenarioError, refusal
from ada_tools.scenario.registry import Measured, find_measure
from ada_tools.scenario.scenario import Scenario
from ada_tools.scenario.sections import AUTO, SimulationPart
from ada_tools.scenario.states import build_model, efforts, start_state
from ada_tools.scenario.units import BadValue, value_in

if TYPE_CHECKING:
    from ada_controllers.controller import Controller
    from ada_controllers.in_simulation import InSimulation
    from ada_controllers.state import Reference
    from ada_dynamics.contact.contact import Contact
    from ada_dynamics.contact.stops import JointStops
    from ada_dynamics.simulation import Log, Simulation
    from ada_dynamics.simulation.profiles import WrenchProfile

BEYOND = 1e-6  # [rad, m] tolerance of position limits
_MATERIAL = ("stiffness", "dissipation", "friction", "slip_speed")
_PLACE = (units.LENGTH,) * 3


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
        loop = None if scenario.control is None else _control_loop(scenario, model, q)
        make = Simulation if loop is None else loop.simulation
        simulation = make(
            model,
            q,
            v,
            integrator=cast("IntegratorName", part.integrator),
            step=part.step,
            contact=None if part.contact is None else _contact_of(part.contact, model),
            tau=tau if tau.any() else None,
            external=_wrenches_on(scenario, model),
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
    wanted = [claim.measure for claim in scenario.claims if claim.measure] if names is None else names
    found: dict[str, Measured] = {}
    for name in dict.fromkeys(wanted):
        value = find_measure(name).function(scenario, log)
        if isinstance(value, Mapping):
            found[name] = {part: float(number) for part, number in value.items()}
        else:
            found[name] = float(np.asarray(value))
    return found


# --- controller -------------------------------------------------------------------------------------------------------
def _control_loop(scenario: Scenario, model: Model, q: Array) -> InSimulation:
    """Create the controller of a scenario with its reference.

    Args:
        scenario: scenario with a controller.
        model: simulated robot.
        q: initial configuration; joints without a reference hold it.

    Raises:
        ScenarioError: unknown controller, unsuitable robot, or invalid reference.
    """
    from ada_controllers import make
    from ada_controllers.checks.shaping import ShapingSettings
    from ada_controllers.in_simulation import InSimulation, by_joint_names
    from ada_controllers.registry import find

    part = scenario.control
    assert part is not None
    try:
        robot = model if part.robot is None else believed_robot(scenario, part.robot)
        settings = _in_si(part.settings, find(part.name).SETTINGS)
        controller = make(part.name, robot, settings, _in_si(part.shaping, ShapingSettings))
        state = None if part.robot is None else by_joint_names(robot, model)
        start = q if state is None else state(q, np.zeros(model.nv)).q
        reference = _reference(part.reference, controller, start)
        if reference is not None:
            controller.check(reference)
    except ScenarioError:
        raise
    except AdaError as problem:
        raise refusal(scenario.file, "controller", problem) from None
    return InSimulation(controller, reference, period=part.period, state=state)


def believed_robot(scenario: Scenario, name: str) -> Model:
    """Robot model used by the controller.

    Raises:
        ScenarioError: the robot cannot be loaded.
    """
    try:
        return load_robot(name)
    except AdaError as problem:
        raise refusal(scenario.file, "controller", problem) from None


def _in_si(given: Mapping[str, Any], cls: type[Any]) -> dict[str, Any]:
    """Settings with numbers in place of texts such as "45 deg"."""
    unit = {one.name: one.unit for one in fields_of(cls) if one.kind in ("float", "floats")}
    return {name: _without_unit(name, value, unit[name]) if name in unit else value for name, value in given.items()}


def _without_unit(name: str, value: Any, unit: str) -> Any:
    if isinstance(value, list):
        return [_without_unit(name, item, unit) for item in value]
    try:
        return value_in(value, unit) if isinstance(value, str) else value
    except BadValue as problem:
        raise InputError(f"{name}: {problem}.", field=name, value=value, allowed=unit) from None


def _reference(part: Part, controller: Controller[object], start: Array) -> Reference | None:
    from ada_controllers.state import JointReference, PoseReference

    if part.has("pose"):
        pose = part.part("pose", None)
        rpy = pose.vector("rpy", (units.ANGLE,) * 3) if pose.has("rpy") else (0.0, 0.0, 0.0)
        return PoseReference(pose_of(pose.vector("position", (units.LENGTH,) * 3), rpy))
    if not part.keys():
        return None
    position, velocity = start[controller.q_index], np.zeros(len(controller.joints))
    for key, into, unit in (("joints", position, units.ANGLE), ("velocity", velocity, units.ANGULAR_SPEED)):
        given = part.part(key, None)
        for joint in given.keys():  # noqa: SIM118
            if joint not in controller.joints:
                known = ", ".join(controller.joints)
                raise given.problem(joint, f"the controller commands no such joint. Known: {known}.")
            turns = controller.model.joints[joint].type.turns()
            metres = units.LENGTH if key == "joints" else units.SPEED
            into[controller.joints.index(joint)] = given.quantity(joint, unit if turns else metres)
    return JointReference(position, velocity)


# --- loads ------------------------------------------------------------------------------------------------------------
def _wrenches_on(scenario: Scenario, model: Model) -> tuple[WrenchProfile, ...]:
    """Disturbances of a scenario; raises ScenarioError for unknown links."""
    for i, one in enumerate(scenario.disturbances):
        if one.link not in model.links:
            problem = unknown_name("link", one.link, model.links)
            raise refusal(scenario.file, f"disturbances.{i}", problem)
    return scenario.disturbances


def _contact_of(part: Part, model: Model) -> Contact:
    """Contact described by a scenario."""
    from ada_dynamics.contact.contact import Contact, ContactPoint, ContactSphere, Ground

    more: dict[str, Any] = {}
    if part.has("material"):
        more["material"] = _material(part.part("material", _MATERIAL))
    if part.has("ground"):
        ground = part.part("ground", ("height", "normal"))
        normal = ground.vector("normal", (units.NUMBER,) * 3) if ground.has("normal") else (0.0, 0.0, 1.0)
        more["ground"] = Ground(height=ground.quantity("height", units.LENGTH, 0.0), normal=normal)
    if part.has("soles"):
        if part.has("points") or part.has("spheres"):
            raise part.problem("soles", "give either soles, or points and spheres.")
        return Contact.of_soles(model, list(part.texts("soles")), **more)
    points = [
        ContactPoint(p.text("name"), p.text("link"), p.vector("xyz", _PLACE))
        for p in part.parts("points", ("name", "link", "xyz"))
    ]
    spheres = [
        ContactSphere(s.text("name"), s.text("link"), s.vector("xyz", _PLACE), s.positive("radius", units.LENGTH))
        for s in part.parts("spheres", ("name", "link", "xyz", "radius"))
    ]
    return Contact(points=points, spheres=spheres, **more)


def _material(part: Part) -> Any:
    from ada_dynamics.contact.contact import Material

    wanted = dict(zip(_MATERIAL, (units.STIFFNESS, units.Dimension(s=1, m=-1), units.NUMBER, units.SPEED), strict=True))
    return Material(**{key: part.quantity(key, wanted[key]) for key in part.keys()})  # noqa: SIM118
