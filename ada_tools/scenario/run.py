# SPDX-License-Identifier: Apache-2.0
"""Robot model, initial state and simulation of a scenario with its controller and disturbances, and its measures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError, unknown_name
from ada_dynamics.model.edit.parts import Parts, with_gravity
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.robots.catalogue import CATALOGUE, start_of
from ada_dynamics.robots.load import load as load_robot
from ada_dynamics.simulation.methods import IntegratorName
from ada_dynamics.spatial.orientation import pose_of
from ada_robot.settings import fields_of
from ada_tools.scenario.fields import Part, ScenarioError, refusal
from ada_tools.scenario.registry import Measured, find_measure
from ada_tools.scenario.scenario import ContactPart, ControlPart, ModelPart, Scenario, SimulationPart
from ada_tools.scenario.units import BadValue, value_in

if TYPE_CHECKING:
    from ada_controllers.controller import Controller
    from ada_controllers.in_simulation import InSimulation
    from ada_controllers.state import Reference
    from ada_dynamics.contact.contact import Contact
    from ada_dynamics.simulation import Log, Simulation

CLOSED = 1e-9  # [m, rad], [m/s, rad/s] tolerance of the loop constraints for the initial state
BEYOND = 1e-6  # [rad, m] tolerance of position limits
_POSITION, _RATE, _EFFORT = range(3)
# Units of a coordinate, its rate and its effort.
_UNITS = {"rad": ("rad", "rad/s", "N m"), "m": ("m", "m/s", "N"), "1": ("1", "1", "1")}
_CLOSE = "Write start: {close: true} to use the nearest closed state."


# --- model and initial state ------------------------------------------------------------------------------------------
def build_model(scenario: Scenario) -> Model:
    """Robot model of a scenario.

    Raises:
        ScenarioError: the model is missing or cannot be loaded.
    """
    part = scenario.model
    if part is None:
        words = f"{scenario.file}: model: missing; write model: {{robot: ...}}."
        raise ScenarioError(words, file=scenario.file, field="model")
    try:
        model = _loaded(scenario, part)
        if part.gravity is not None and part.gravity != model.gravity:
            model = with_gravity(model, part.gravity)
        return _with_changed_parts(model, part)
    except ScenarioError:
        raise
    except AdaError as problem:
        raise refusal(scenario.file, "model", problem) from None


def _loaded(scenario: Scenario, part: ModelPart) -> Model:
    source = part.robot if part.robot in CATALOGUE else str(scenario.path(part.robot))
    more: dict[str, Any] = {}
    if part.base is not None:
        more["base"] = part.base
    if part.loops is not None:
        more["loops"] = str(scenario.path(part.loops))
    if source not in CATALOGUE and not scenario.path(part.robot).exists():
        raise unknown_name("file or robot of the catalogue", part.robot, CATALOGUE)
    return load_robot(source, **more)


def _with_changed_parts(model: Model, part: ModelPart) -> Model:
    """Replace link masses, with proportional inertias, and rotor inertia and friction of the motors."""
    rotor, friction = part.rotor_inertia, part.joint_friction
    if not part.masses and rotor is None and friction is None:
        return model
    parts = Parts.of(model)
    for name, mass in part.masses.items():
        if name not in parts.links:
            raise unknown_name("link in model.masses", name, parts.links)
        link = parts.links[name]
        if not link.mass > 0.0:
            raise ScenarioError(f"link {name!r} is massless; model.masses cannot change it.", link=name, field="masses")
        parts.links[name] = replace(link, mass=mass, inertia=link.inertia * (mass / link.mass))
    for name in motor_joints(model):
        joint = parts.joints[name]
        inertia = joint.armature if rotor is None else rotor
        parts.joints[name] = replace(joint, armature=inertia, friction=joint.friction if friction is None else friction)
    return parts.build()


def start_state(scenario: Scenario, model: Model) -> tuple[Array, Array]:
    """Initial configuration and velocity of a scenario.

    Joints that are not named are at zero and at rest; without any names the configuration of the catalogue is used.

    Raises:
        ScenarioError: unknown joint, invalid value, or open loops.
    """
    start = scenario.start
    given = start.part("joints", None)
    robot = None if given.entries or scenario.model is None else scenario.model.robot
    catalogued = start_of(robot)
    q = model.home() if catalogued is None else np.array(catalogued, dtype=np.float64)
    _fill(q, given, model, _POSITION)
    wrong = model.position_problems(q) if model.has_manifold_coordinates else []
    if wrong:
        raise start.problem("joints", f"{'; '.join(map(str, wrong))}.")
    v = np.zeros(model.nv)
    _fill(v, start.part("velocity", None), model, _RATE)
    if model.loops:
        q, v = _on_loops(start, model, q, v)
    if start.text("centre_of_mass", "as given") == "at rest":
        v = _at_rest(start, model, q, v)
    return q, v


def efforts(scenario: Scenario, model: Model) -> Array:
    """Constant efforts of the simulation."""
    tau = np.zeros(model.nv)
    if scenario.simulation is not None:
        _fill(tau, scenario.simulation.efforts, model, _EFFORT)
    return tau


def _fill(into: Array, part: Part, model: Model, kind: int) -> None:
    """Write the entries of a joint mapping into a vector of coordinates, rates or efforts."""
    for joint in part.keys():  # noqa: SIM118
        try:
            place = (model.q_index if kind == _POSITION else model.v_index)(joint)
        except AdaError as problem:
            raise part.problem(joint, str(problem)) from None
        its_type = model.joints[joint].type
        numbers = its_type.coordinates if kind == _POSITION else its_type.rates
        into[place] = part.numbers(joint, [_UNITS[one.unit][kind] for one in numbers])


def _on_loops(start: Part, model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """State with closed loops; raises an error with the closure error if closing is not requested."""
    from ada_dynamics.constraints.closed_configuration import closed_configuration
    from ada_dynamics.constraints.constraint_set import ConstraintSet
    from ada_dynamics.dynamics import Dynamics

    numbers = ConstraintSet(model)
    closes = start.flag("close")
    gap = numbers.violation(q)
    if float(np.max(np.abs(gap), initial=0.0)) > CLOSED:
        if not closes:
            raise start.problem("joints", f"the loops are not closed: {_by_loop(numbers, gap, '[m, rad]')}. {_CLOSE}")
        try:
            q = np.array(closed_configuration(model, q, start.texts("hold")))
        except AdaError as problem:
            raise start.problem("close", str(problem)) from None
    drift = numbers.jacobian(q) @ v
    if float(np.max(np.abs(drift), initial=0.0)) > CLOSED:
        if not closes:
            shown = _by_loop(numbers, drift, "[m/s, rad/s]")
            raise start.problem("velocity", f"it violates the loop constraints: {shown}. {_CLOSE}")
        q, v = Dynamics(model, q0=q).project_to_constraints(q, v)
    return q, v


def _by_loop(numbers: Any, values: Array, unit: str) -> str:
    """Largest value of each loop, as text."""
    worst: dict[str, float] = {}
    for (loop, _, _), value in zip(numbers.rows, np.abs(values).tolist(), strict=True):
        worst[loop] = max(worst.get(loop, 0.0), value)
    return ", ".join(f"{loop!r} by {value:.3g} {unit}" for loop, value in worst.items() if value > CLOSED)


def _at_rest(start: Part, model: Model, q: Array, v: Array) -> Array:
    """Correct the base velocity so that the centre of mass is at rest; documents print rounded velocities."""
    from ada_dynamics.dynamics import Dynamics

    first = model.joint_names[0]
    if not model.joints[first].type.leaves_free():
        raise start.problem("centre_of_mass", "it requires a floating base.")
    dynamics = Dynamics(model)
    base = slice(model.v_index(first).start, model.v_index(first).start + 3)
    J = np.asarray(dynamics.com_jacobian(q), dtype=np.float64)
    v = v.copy()
    for _ in range(2):  # the second iteration removes rounding errors
        v[base] -= np.linalg.solve(J[:, base], J @ v)
    return v


# --- simulation -------------------------------------------------------------------------------------------------------
def simulation_of(scenario: Scenario) -> Simulation:
    """Simulation of a scenario at its initial state.

    Raises:
        ScenarioError: the scenario has no simulation, or a value does not fit the robot.
    """
    return set_up(scenario)[0]


def set_up(scenario: Scenario, like: Simulation | None = None) -> tuple[Simulation, InSimulation | None]:
    """Simulation of a scenario, and its control loop if it has a controller.

    Args:
        scenario: scenario with a simulation.
        like: simulation with the same model, start and algorithm, whose model and dynamics are used again.

    Raises:
        ScenarioError: the scenario has no simulation, or a value does not fit the robot.
    """
    from ada_dynamics.contact.stops import JointStops, limited_joints
    from ada_dynamics.dynamics import Dynamics
    from ada_dynamics.simulation import Simulation

    part = _part(scenario)
    model = build_model(scenario) if like is None else like.model
    q, v = checked_start(scenario, model)
    tau = efforts(scenario, model)
    for i, one in enumerate(scenario.disturbances):
        if one.link not in model.links:
            raise refusal(scenario.file, f"disturbances.{i}", unknown_name("link", one.link, model.links))
    more: dict[str, Any] = {}
    if part.stops and limited_joints(model):
        # The same stiffness for all initial states, so that they share a kernel.
        more["stops"] = JointStops.for_model(model, part.step)
    try:
        if part.contact is not None:
            more["contact"] = _contact(part.contact, model, q, part.step)
        if like is not None:
            more["dynamics"] = like.dynamics
        elif part.algorithm == "hybrid":
            more["dynamics"] = Dynamics(model, "hybrid", hybrid=part.hybrid or "auto")
        else:
            more["algorithm"] = part.algorithm
        loop = None if scenario.control is None else _control_loop(scenario, scenario.control, model, q)
        make = Simulation if loop is None else loop.simulation
        simulation = make(
            model,
            q,
            v,
            integrator=cast("IntegratorName", part.integrator),
            step=part.step,
            tau=tau if tau.any() else None,
            external=scenario.disturbances,
            tolerance=part.tolerance,
            log_every=part.log_every,
            **more,
        )
        return simulation, loop
    except ScenarioError:
        raise
    except AdaError as problem:
        raise refusal(scenario.file, "simulation", problem) from None


def _contact(part: ContactPart, model: Model, q: Array, step: float) -> Contact:
    """Contact of the soles with the ground."""
    from ada_dynamics.contact.contact import Contact, Material

    soles = Contact.of_soles(model, part.links, q=q)
    material = Material.for_weight(model.total_mass, len(soles.points), step, friction=part.friction)
    return replace(soles, material=replace(material, stiffness=part.stiffness or material.stiffness))


def checked_start(scenario: Scenario, model: Model) -> tuple[Array, Array]:
    """Initial configuration and velocity of a simulation.

    Raises:
        ScenarioError: they do not fit the robot, or exceed its joint stops.
    """
    from ada_dynamics.contact.stops import limit_violations, limited_joints

    q, v = start_state(scenario, model)
    if _part(scenario).stops and limited_joints(model):
        for name, over in limit_violations(model, q).items():
            if over > BEYOND:
                text = (
                    f"{scenario.file}: start: joint {name!r} is {over:.3g} [rad, m] beyond its limits. Change the "
                    "start, or disable the stops: simulation: {stops: none}."
                )
                raise ScenarioError(text, file=scenario.file, joint=name, field="start", value=over)
    return q, v


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
    return log_of(scenario, *set_up(scenario), record=record, progress=progress)


def log_of(scenario: Scenario, simulation: Simulation, loop: InSimulation | None, **options: Any) -> Log:
    """Run the simulation of a scenario from `set_up`, with options of `Simulation.run`."""
    log = simulation.run(_part(scenario).duration, **options)
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
def _control_loop(scenario: Scenario, part: ControlPart, model: Model, q: Array) -> InSimulation:
    """Controller of a scenario with its reference; joints without a reference hold the initial configuration q.

    Raises:
        ScenarioError: unknown controller, unsuitable robot, or invalid reference.
    """
    from ada_controllers import make
    from ada_controllers.in_simulation import InSimulation, by_joint_names
    from ada_controllers.registry import find

    try:
        robot = model if part.robot is None else believed_robot(scenario, part.robot)
        settings = _in_si(part.settings, find(part.name).SETTINGS)
        controller = make(part.name, robot, settings)
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
        rpy = pose.vector("rpy", ("rad",) * 3) if pose.has("rpy") else (0.0, 0.0, 0.0)
        return PoseReference(pose_of(pose.vector("position", ("m",) * 3), rpy))
    if not part.keys():
        return None
    position, velocity = start[controller.q_index], np.zeros(len(controller.joints))
    for key, into, unit in (("joints", position, "rad"), ("velocity", velocity, "rad/s")):
        given = part.part(key, None)
        for joint in given.keys():  # noqa: SIM118
            if joint not in controller.joints:
                known = ", ".join(controller.joints)
                raise given.problem(joint, f"the controller commands no such joint. Known: {known}.")
            turns = controller.model.joints[joint].type.turns()
            metres = "m" if key == "joints" else "m/s"
            into[controller.joints.index(joint)] = given.quantity(joint, unit if turns else metres)
    return JointReference(position, velocity)
