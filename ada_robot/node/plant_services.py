# SPDX-License-Identifier: Apache-2.0
"""Services of the dynamics node: reset, pause, step, and the standard services of simulators; imports rclpy.

The standard services (package simulation_interfaces) are offered if that package is installed. The definitions used
here are equal in Jazzy, Kilted and Lyrical, except for flags of SetEntityState.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.time import Time
from std_srvs.srv import SetBool, Trigger

from ada_dynamics import __version__
from ada_dynamics.errors import AdaError, unknown_name
from ada_dynamics.model.model import Model
from ada_robot.node.plant_loop import PlantLoop, done
from ada_robot.ros.status import answered
from ada_robot.simulated.bounds import StateBounds
from ada_robot.simulated.plant import Snapshot
from ada_robot.simulated.settings import DynamicsSettings
from ada_robot.simulated.source import PoseError, RootBody, initial_state

BATCH = 200  # maximum number of steps per request to the physics thread
try:
    from simulation_interfaces.msg import Bounds, EntityCategory, EntityState, Result, SimulationState
    from simulation_interfaces.msg import SimulatorFeatures as Features
    from simulation_interfaces.srv import (
        GetEntities,
        GetEntitiesStates,
        GetEntityInfo,
        GetEntityState,
        GetSimulationState,
        GetSimulatorFeatures,
        ResetSimulation,
        SetEntityState,
        SetSimulationState,
        StepSimulation,
    )
except ImportError as problem:
    LACKING: str | None = str(problem)
else:
    LACKING = None

NAMES = (
    "get_entities",
    "get_entities_states",
    "get_entity_info",
    "get_entity_state",
    "get_simulation_state",
    "get_simulator_features",
    "reset_simulation",
    "set_entity_state",
    "set_simulation_state",
    "step_simulation",
)
MOST_STEPS = 1_000_000  # maximum number of steps per request
_LAST_WORDS = 0.2  # delay between the request to quit and the end of the node, to send the response [s]
_UNKNOWN = float("nan")

Handler = Callable[[Any, Any], None]


class PlantServices:
    """Services executed by the physics thread between two steps; the response is sent afterwards."""

    def __init__(self, node: Node, loop: PlantLoop, settings: Callable[[], DynamicsSettings]) -> None:
        """Create the services.

        Args:
            node: node of the services.
            loop: physics thread.
            settings: returns the present settings of the node.
        """
        self._loop, self._settings = loop, settings
        node.create_service(Trigger, "~/reset", self._reset)
        node.create_service(SetBool, "~/pause", self._pause)
        node.create_service(Trigger, "~/step", self._step)

    def reset(self, *, restarts_time: bool = False) -> str:
        """Reset the robot to its initial state; return a message.

        Raises:
            AdaError: if it is not possible.
        """
        plant = self._loop.plant  # raises if it is not created yet
        q, v = initial_state(plant.model, self._settings())
        done(self._loop.change(lambda: plant.reset(q, v, restarts_time=restarts_time)))
        return f"{plant.model.name} is reset to its initial state; all commands have ended."

    def pause(self, paused: bool) -> str:
        """Pause or resume; return a message."""
        done(self._loop.pause(paused))
        return f"{'paused' if paused else 'running'} at t = {self._loop.latest.t:.6g} s"

    def step(self, count: int) -> str:
        """Take steps while paused; return a message.

        Raises:
            AdaError: if it is not paused, or the simulation has failed.
        """
        left, batch = count, BATCH - BATCH % self._loop.every or BATCH  # whole periods of joint_states
        while left > batch:  # the timeout applies to one batch, and the node may end between two
            done(self._loop.step(batch))
            left -= batch
        snapshot = done(self._loop.step(left))
        return f"{count} step{'s' if count > 1 else ''} taken, t = {snapshot.t:.9g} s"

    # --- responses ----------------------------------------------------------------------------------------------
    def _reset(self, _: Any, answer: Any) -> Any:
        return answered(answer, self.reset)

    def _pause(self, request: Any, answer: Any) -> Any:
        return answered(answer, lambda: self.pause(request.data))

    def _step(self, _: Any, answer: Any) -> Any:
        return answered(answer, lambda: self.step(self._settings().step_count))


class _Refusal(AdaError):
    """Refusal with a specific result code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class StandardServices:
    """Services for features, reset, steps and state of the simulation, and for the robot as its only entity."""

    @classmethod
    def offered(
        cls, node: Node, model: Model, bounds: StateBounds, loop: PlantLoop, services: PlantServices, world_frame: str
    ) -> StandardServices | None:
        """Create the services if the package can be imported.

        Args:
            node: node of the services.
            model: robot model.
            bounds: bounds of its states.
            loop: physics thread.
            services: node's own services.
            world_frame: frame of the ground.
        """
        if LACKING is not None:
            node.get_logger().debug(f"no standard simulator services: {LACKING}")
            return None
        return cls(node, model, bounds, loop, services, world_frame)

    def __init__(
        self, node: Node, model: Model, bounds: StateBounds, loop: PlantLoop, services: PlantServices, world_frame: str
    ) -> None:
        """Create the services; arguments as in `offered`."""
        self._node, self._loop, self._services = node, loop, services
        self._stopped_at: int | None = None  # step count of the plant when it was stopped
        self._is_quitting = False
        self._root = RootBody(model, bounds)
        entities = _Entities(model, loop, self._root, world_frame)
        node.create_service(GetSimulatorFeatures, "get_simulator_features", self._features)
        for kind, name, handle in (
            (ResetSimulation, "reset_simulation", self._reset),
            (StepSimulation, "step_simulation", self._step),
            (GetSimulationState, "get_simulation_state", self._get_state),
            (SetSimulationState, "set_simulation_state", self._set_state),
            (GetEntities, "get_entities", entities.names),
            (GetEntitiesStates, "get_entities_states", entities.states),
            (GetEntityInfo, "get_entity_info", entities.info),
            (GetEntityState, "get_entity_state", entities.state),
            (SetEntityState, "set_entity_state", entities.set_state),
        ):
            node.create_service(kind, name, _answering(handle))

    # --- features -----------------------------------------------------------------------------------------------
    def _features(self, _: Any, answer: Any) -> Any:
        found = [
            Features.ENTITY_CATEGORIES,
            Features.ENTITY_STATE_GETTING,
            Features.ENTITY_INFO_GETTING,
            Features.SIMULATION_RESET,
            Features.SIMULATION_RESET_TIME,
            Features.SIMULATION_RESET_STATE,
            Features.SIMULATION_STATE_GETTING,
            Features.SIMULATION_STATE_SETTING,
            Features.SIMULATION_STATE_PAUSE,
            Features.STEP_SIMULATION_SINGLE,
            Features.STEP_SIMULATION_MULTIPLE,
        ]
        if self._root.is_free:
            found.append(Features.ENTITY_STATE_SETTING)
        answer.features.features = sorted(found)
        answer.features.custom_info = f"ada_dynamics {__version__}; see its page docs/simulation_interfaces.md"
        return answer

    # --- reset and steps ----------------------------------------------------------------------------------------
    def _reset(self, request: Any, _: Any) -> None:
        time, state, spawned = (
            ResetSimulation.Request.SCOPE_TIME,
            ResetSimulation.Request.SCOPE_STATE,
            ResetSimulation.Request.SCOPE_SPAWNED,
        )
        scope = request.scope
        if scope in (ResetSimulation.Request.SCOPE_DEFAULT, ResetSimulation.Request.SCOPE_ALL):
            scope = time | state  # spawning is not supported
        if scope & ~(time | state):
            reason = "spawning is not supported" if scope & spawned else "it is not in the standard"
            raise _Refusal(
                Result.RESULT_FEATURE_UNSUPPORTED,
                f"scope {request.scope}: {reason}. Known: time ({time}), state ({state}), both ({time | state}), all "
                f"({ResetSimulation.Request.SCOPE_ALL}). Nothing was reset.",
            )
        if scope & state:
            self._services.reset(restarts_time=bool(scope & time))
            return
        plant = self._loop.plant
        done(self._loop.change(lambda: plant.reset(plant.simulation.q, plant.simulation.v, restarts_time=True)))

    def _step(self, request: Any, _: Any) -> None:
        if self._state() == SimulationState.STATE_STOPPED:
            raise AdaError("the simulation is stopped; pause it first (set_simulation_state).")
        if request.steps > MOST_STEPS:
            raise AdaError(f"{request.steps} steps exceed the maximum of {MOST_STEPS} per request.")
        self._services.step(request.steps)

    # --- the state of the simulation ----------------------------------------------------------------------------
    def _state(self) -> int:
        if self._is_quitting:
            return int(SimulationState.STATE_QUITTING)
        if not self._loop.is_paused:
            return int(SimulationState.STATE_PLAYING)
        # a step taken by any service ends the stop
        is_stopped = self._stopped_at == self._loop.latest.step
        return int(SimulationState.STATE_STOPPED if is_stopped else SimulationState.STATE_PAUSED)

    def _get_state(self, _: Any, answer: Any) -> None:
        answer.state.state = self._state()

    def _set_state(self, request: Any, _: Any) -> None:
        requested, present = request.state.state, self._state()
        codes = SetSimulationState.Response
        acts = {
            SimulationState.STATE_STOPPED: self._stop,
            SimulationState.STATE_PLAYING: self._play,
            SimulationState.STATE_PAUSED: self._pause,
            SimulationState.STATE_QUITTING: self._quit,
        }
        if requested not in acts:
            known = "stopped (0), playing (1), paused (2), quitting (3)"
            raise _Refusal(
                Result.RESULT_FEATURE_UNSUPPORTED, f"state {requested} is not supported (no worlds). Known: {known}."
            )
        if requested == present:
            raise _Refusal(codes.ALREADY_IN_TARGET_STATE, "already in that state.")
        if self._is_quitting:
            raise _Refusal(codes.INCORRECT_TRANSITION, "the simulator is quitting.")
        try:
            acts[requested]()
        except AdaError as problem:
            raise _Refusal(codes.STATE_TRANSITION_ERROR, str(problem)) from problem

    def _stop(self) -> None:
        self._services.pause(True)
        self._services.reset(restarts_time=True)
        self._stopped_at = self._loop.latest.step

    def _pause(self) -> None:
        self._services.pause(True)
        self._stopped_at = None

    def _play(self) -> None:
        failure = self._loop.plant.failure
        if failure is not None:
            raise AdaError(f"{failure} Reset it (reset_simulation).")
        self._stopped_at = None
        self._services.pause(False)

    def _quit(self) -> None:
        self._services.pause(True)
        self._is_quitting = True
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self._node.create_timer(_LAST_WORDS, self._end, clock=steady)

    def _end(self) -> None:
        self._timer.cancel()
        self._loop.stop()  # before the shutdown, because it publishes
        self._node.context.try_shutdown()


class _Entities:
    """Entities of the standard: only the robot, with the pose of its root link."""

    def __init__(self, model: Model, loop: PlantLoop, root: RootBody, world_frame: str) -> None:
        self._loop, self._root, self._world_frame = loop, root, world_frame
        self._name = model.name

    def names(self, request: Any, answer: Any) -> None:
        answer.entities = self._chosen(request.filters)

    def states(self, request: Any, answer: Any) -> None:
        answer.entities = self._chosen(request.filters)
        answer.states = [self._present() for _ in answer.entities]

    def state(self, request: Any, answer: Any) -> None:
        self._require(request.entity)
        answer.state = self._present()

    def info(self, request: Any, answer: Any) -> None:
        self._require(request.entity)
        plant = self._loop.plant
        answer.info.category.category = EntityCategory.CATEGORY_ROBOT
        answer.info.description = (
            f"{len(plant.model.links)} links, {plant.model.nv} velocities, {len(plant.model.loops)} loops, "
            f"{len(plant.motors)} motors"
        )

    def set_state(self, request: Any, _: Any) -> None:
        self._require(request.entity)
        frame = request.state.header.frame_id
        if frame not in ("", self._world_frame):
            raise _Refusal(
                Result.RESULT_FEATURE_UNSUPPORTED,
                f"frame {frame!r} is not supported; use the world frame {self._world_frame!r} or an empty name.",
            )
        if not self._root.is_free:
            raise _Refusal(
                Result.RESULT_FEATURE_UNSUPPORTED,
                f"the root link of {self._name!r} is fixed to the world. Move its joints by the topic ~/set_state.",
            )
        # versions before 2.1 have no flags, and set both
        pose = _pose(request.state.pose) if getattr(request, "set_pose", True) else None
        twist = _vectors(request.state.twist) if getattr(request, "set_twist", True) else None
        if pose is None and twist is None:
            raise AdaError("set_pose and set_twist are false; accelerations follow from the dynamics.")
        plant, present = self._loop.plant, self._now()
        try:
            q, v = self._root.moved(present.q, present.v, pose, twist)
        except PoseError as problem:
            raise _Refusal(SetEntityState.Response.INVALID_POSE, str(problem)) from problem
        done(self._loop.change(lambda: plant.reset(q, v)))

    def _require(self, name: str) -> None:
        if name != self._name:
            raise _Refusal(Result.RESULT_NOT_FOUND, str(unknown_name("entity", name, [self._name])))

    def _chosen(self, filters: Any) -> list[str]:
        """Return the robot's name if it passes the filters."""
        if filters.bounds.type != Bounds.TYPE_EMPTY or filters.tags.tags or "[:" in filters.filter:
            raise _Refusal(
                Result.RESULT_FEATURE_UNSUPPORTED,
                "entities are filtered by name and category, not by bounds, tags, or classes such as [[:alpha:]].",
            )
        try:
            fits = re.search(filters.filter, self._name) is not None
        except re.error as problem:
            raise AdaError(f"filter {filters.filter!r} is no regular expression: {problem}.") from problem
        categories = {one.category for one in filters.categories}
        return [self._name] if fits and (not categories or EntityCategory.CATEGORY_ROBOT in categories) else []

    def _now(self) -> Snapshot:
        """Return the present state; the latest published one may be some steps older."""
        snapshot: Snapshot = done(self._loop.present())
        return snapshot

    def _present(self) -> Any:
        snapshot = self._now()
        pose, twist = self._root.state(snapshot.q, snapshot.v)
        state = EntityState()
        state.header.stamp = Time(nanoseconds=snapshot.stamp).to_msg()
        state.header.frame_id = self._world_frame
        _fill(state.pose.position, "xyz", pose[:3].tolist())
        _fill(state.pose.orientation, "xyzw", pose[3:].tolist())
        _fill(state.twist.linear, "xyz", twist[:3].tolist())
        _fill(state.twist.angular, "xyz", twist[3:].tolist())
        acceleration = [_UNKNOWN] * 3 if self._root.is_free else [0.0] * 3
        _fill(state.acceleration.linear, "xyz", acceleration)
        _fill(state.acceleration.angular, "xyz", acceleration)
        return state


def _answering(handle: Handler) -> Callable[[Any, Any], Any]:
    """Return a handler that converts errors to results."""

    def answer(request: Any, response: Any) -> Any:
        response.result.result = Result.RESULT_OK
        try:
            handle(request, response)
        except _Refusal as refusal:
            response.result.result, response.result.error_message = refusal.code, str(refusal)
        except AdaError as problem:
            response.result.result, response.result.error_message = Result.RESULT_OPERATION_FAILED, str(problem)
        return response

    return answer


def _fill(message: Any, fields: str, numbers: Sequence[float]) -> None:
    for field, number in zip(fields, numbers, strict=True):
        setattr(message, field, number)


def _pose(message: Any) -> list[float]:
    place, turn = message.position, message.orientation
    return [place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]


def _vectors(twist: Any) -> list[float]:
    return [getattr(vector, axis) for vector in (twist.linear, twist.angular) for axis in "xyz"]
