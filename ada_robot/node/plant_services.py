# SPDX-License-Identifier: Apache-2.0
"""Services of the dynamics node: reset, pause, step, and the standard services of simulators; imports rclpy.

The standard services (package simulation_interfaces) are offered if that package is installed. The definitions used
here are equal in Jazzy, Kilted and Lyrical.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ada_dynamics import __version__
from ada_dynamics.errors import AdaError
from ada_robot.node.plant_loop import PlantLoop, done
from ada_robot.ros.status import answered
from ada_robot.simulated.settings import DynamicsSettings
from ada_robot.simulated.source import initial_state

try:
    from simulation_interfaces.msg import Result, SimulationState
    from simulation_interfaces.msg import SimulatorFeatures as Features
    from simulation_interfaces.srv import (
        GetSimulationState,
        GetSimulatorFeatures,
        ResetSimulation,
        SetSimulationState,
        StepSimulation,
    )
except ImportError as problem:
    LACKING: str | None = str(problem)
else:
    LACKING = None

BATCH = 200  # maximum number of steps per request to the physics thread
MOST_STEPS = 1_000_000  # maximum number of steps per request
_LAST_WORDS = 0.2  # delay between the request to quit and the end of the node, to send the response [s]

Handler = Callable[[Any, Any], None]


class PlantServices:
    """Services executed by the physics thread between two steps; the response is sent afterwards."""

    def __init__(self, node: Node, loop: PlantLoop, settings: Callable[[], DynamicsSettings]) -> None:
        """Create the services; `settings` returns the present settings of the node."""
        self._loop, self._settings = loop, settings
        node.create_service(Trigger, "~/reset", lambda _, answer: answered(answer, self.reset))
        node.create_service(SetBool, "~/pause", lambda given, answer: answered(answer, partial(self.pause, given.data)))
        node.create_service(Trigger, "~/step", self._step)

    def reset(self, *, restarts_time: bool = False) -> str:
        """Reset the robot to its initial state; return a message. AdaError if it is not possible."""
        plant = self._loop.plant
        q, v = initial_state(plant.model, self._settings())
        done(self._loop.change(lambda: plant.reset(q, v, restarts_time=restarts_time)))
        return f"{plant.model.name} is reset to its initial state; all commands have ended."

    def pause(self, paused: bool) -> str:
        """Pause or resume; return a message."""
        done(self._loop.pause(paused))
        return f"{'paused' if paused else 'running'} at t = {self._loop.latest.t:.6g} s"

    def step(self, count: int) -> str:
        """Take steps while paused; return a message. AdaError if it is not paused, or the simulation has failed."""
        left, batch = count, BATCH - BATCH % self._loop.every or BATCH  # whole periods of joint_states
        while left > batch:  # the timeout applies to one batch, and the node may end between two
            done(self._loop.step(batch))
            left -= batch
        snapshot = done(self._loop.step(left))
        return f"{count} step{'s' if count > 1 else ''} taken, t = {snapshot.t:.9g} s"

    def _step(self, _: Any, answer: Any) -> Any:
        return answered(answer, lambda: self.step(self._settings().step_count))


class _Refusal(AdaError):
    """Refusal with a specific result code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class StandardServices:
    """Services for features, reset, steps and state of the simulation."""

    def __init__(self, node: Node, loop: PlantLoop, services: PlantServices) -> None:
        """Create the services. Args: node of the services; physics thread; own services of the node."""
        self._node, self._loop, self._services = node, loop, services
        self._stopped_at: int | None = None  # step count of the plant when it was stopped
        self._is_quitting = False
        node.create_service(GetSimulatorFeatures, "get_simulator_features", self._features)
        for kind, name, handle in (
            (ResetSimulation, "reset_simulation", self._reset),
            (StepSimulation, "step_simulation", self._step),
            (GetSimulationState, "get_simulation_state", self._get_state),
            (SetSimulationState, "set_simulation_state", self._set_state),
        ):
            node.create_service(kind, name, _answering(handle))

    # --- features -----------------------------------------------------------------------------------------------
    def _features(self, _: Any, answer: Any) -> Any:
        answer.features.features = [
            Features.SIMULATION_RESET,
            Features.SIMULATION_RESET_TIME,
            Features.SIMULATION_RESET_STATE,
            Features.SIMULATION_STATE_GETTING,
            Features.SIMULATION_STATE_SETTING,
            Features.SIMULATION_STATE_PAUSE,
            Features.STEP_SIMULATION_SINGLE,
            Features.STEP_SIMULATION_MULTIPLE,
        ]
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
