# SPDX-License-Identifier: Apache-2.0
"""Standard services of simulators for the dynamics node, if the package simulation_interfaces is installed.

The definitions used here are equal in Jazzy, Kilted and Lyrical.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ada_dynamics import __version__
from ada_dynamics.errors import AdaError
from ada_robot.node.plant_loop import PlantLoop

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

MOST_STEPS = 1_000_000  # maximum number of steps per request

Handler = Callable[[Any, Any], None]


class _Refusal(AdaError):
    """Refusal with a specific result code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class StandardServices:
    """Services for features, reset, steps and state of the simulation."""

    def __init__(self, node: Any, loop: PlantLoop) -> None:
        """Create the services of a `DynamicsNode` with its physics thread."""
        self._node, self._loop = node, loop
        self._stopped_at: int | None = None  # step count of the plant when it was stopped
        node.create_service(GetSimulatorFeatures, "get_simulator_features", self._features)
        for kind, name, handle in (
            (ResetSimulation, "reset_simulation", self._reset),
            (StepSimulation, "step_simulation", self._step),
            (GetSimulationState, "get_simulation_state", self._get_state),
            (SetSimulationState, "set_simulation_state", self._set_state),
        ):
            node.create_service(kind, name, _answering(handle))

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

    def _reset(self, request: Any, _: Any) -> None:
        time, state = ResetSimulation.Request.SCOPE_TIME, ResetSimulation.Request.SCOPE_STATE
        everything = (ResetSimulation.Request.SCOPE_DEFAULT, ResetSimulation.Request.SCOPE_ALL)
        scope = time | state if request.scope in everything else request.scope
        if scope & ~(time | state):
            known = f"time ({time}), state ({state}), both ({time | state}), all ({everything[1]})"
            text = f"scope {request.scope} is not supported. Known: {known}. Nothing was reset."
            raise _Refusal(Result.RESULT_FEATURE_UNSUPPORTED, text)
        self._node.reset(state=bool(scope & state), time=bool(scope & time))

    def _step(self, request: Any, _: Any) -> None:
        if self._state() == SimulationState.STATE_STOPPED:
            raise AdaError("the simulation is stopped; pause it first (set_simulation_state).")
        if request.steps > MOST_STEPS:
            raise AdaError(f"{request.steps} steps exceed the maximum of {MOST_STEPS} per request.")
        self._node.step(request.steps)

    def _state(self) -> int:
        if self._node.is_quitting:
            return int(SimulationState.STATE_QUITTING)
        if not self._loop.is_paused:
            return int(SimulationState.STATE_PLAYING)
        # a step taken by any service ends the stop
        is_stopped = self._stopped_at == self._loop.latest.step
        return int(SimulationState.STATE_STOPPED if is_stopped else SimulationState.STATE_PAUSED)

    def _get_state(self, _: Any, answer: Any) -> None:
        answer.state.state = self._state()

    def _set_state(self, request: Any, _: Any) -> None:
        requested, codes = request.state.state, SetSimulationState.Response
        acts = {
            SimulationState.STATE_STOPPED: self._stop,
            SimulationState.STATE_PLAYING: self._play,
            SimulationState.STATE_PAUSED: self._pause,
            SimulationState.STATE_QUITTING: self._node.quit,
        }
        if requested not in acts:
            known = "stopped (0), playing (1), paused (2), quitting (3)"
            text = f"state {requested} is not supported (no worlds). Known: {known}."
            raise _Refusal(Result.RESULT_FEATURE_UNSUPPORTED, text)
        if requested == self._state():
            raise _Refusal(codes.ALREADY_IN_TARGET_STATE, "already in that state.")
        if self._node.is_quitting:
            raise _Refusal(codes.INCORRECT_TRANSITION, "the simulator is quitting.")
        try:
            acts[requested]()
        except AdaError as problem:
            raise _Refusal(codes.STATE_TRANSITION_ERROR, str(problem)) from problem

    def _stop(self) -> None:
        self._node.pause(True)
        self._node.reset(time=True)
        self._stopped_at = self._loop.latest.step

    def _pause(self) -> None:
        self._node.pause(True)
        self._stopped_at = None

    def _play(self) -> None:
        failure = self._loop.plant.failure
        if failure is not None:
            raise AdaError(f"{failure} Reset it (reset_simulation).")
        self._stopped_at = None
        self._node.pause(False)


def _answering(handle: Handler) -> Callable[[Any, Any], Any]:
    """Return a handler that converts errors to results."""

    def answer(request: Any, response: Any) -> Any:
        response.result.result = Result.RESULT_OK
        try:
            handle(request, response)
        except AdaError as problem:
            code = problem.code if isinstance(problem, _Refusal) else Result.RESULT_OPERATION_FAILED
            response.result.result, response.result.error_message = code, str(problem)
        return response

    return answer
