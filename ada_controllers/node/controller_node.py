# SPDX-License-Identifier: Apache-2.0
"""Controller node: lifecycle node that runs a controller of the library for a ROS 2 robot; imports rclpy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import TransitionCallbackReturn

from ada_controllers.command_shaping import ShapingSettings
from ada_controllers.controller import Controller
from ada_controllers.node.control_thread import ControlThread, control_periods, control_status
from ada_controllers.node.controller_settings import ControllerSettings
from ada_controllers.node.inputs import PhaseInput
from ada_controllers.node.requests import ReferenceInputs, TrajectoryAction, action_type
from ada_controllers.registry import CONTROLLERS, find
from ada_controllers.running.control_loop import REFERENCE, LoopSettings
from ada_controllers.state import State
from ada_dynamics import close_loops
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.model import Model
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.inbox import AwaitedDescription
from ada_robot.ros.managed_node import ACTIVE, INACTIVE, SUCCESS, UNCONFIGURED, ManagedNode
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.timing.deadlines import reduce_interpreter_jitter

NAME = "controller_node"
SHAPING = "shaping"  # prefix of the settings of command limits
_LOOK = 0.05  # interval of checks of the control thread [s]
_LOOK_AT_GRAPH = 0.5  # interval of queries for the publishers of states [s]
_LOG_INTERVAL = 5.0  # minimum time between logs of the same problem [s]


class ControllerNode(ManagedNode):
    """Controls a robot by a controller of the library.

    Attributes:
        thread: control thread; None while the node is unconfigured.
    """

    def __init__(self, **arguments: object) -> None:
        """Declare the parameters, and wait for a robot and for requests.

        Args:
            arguments: arguments of rclpy's Node, such as `context` and `parameter_overrides`.

        Raises:
            AdaError: if a parameter is invalid.
        """
        super().__init__(NAME, **arguments)
        self.thread: ControlThread | None = None
        # before the other ones, so that a request may change a controller and its settings
        self._laws = {
            name: Parameters(self, find(name).SETTINGS, prefix=name, on_change=partial(self._retune, name))
            for name in CONTROLLERS
        }
        self._law_settings = {name: law.value for name, law in self._laws.items()}  # also those about to be set
        self._settings = Parameters(self, ControllerSettings, on_change=self._change)
        self._loop_settings = Parameters(self, LoopSettings, on_change=self._change_loop)
        self._shaping = Parameters(self, ShapingSettings, prefix=SHAPING, on_change=self._change_shaping)
        refuse_unknown_overrides(self)
        self._description: str | None = None
        self._model: Model | None = None
        self._action: TrajectoryAction | None = None
        self._parts: list[Any] = []  # closed at clean-up in reverse order
        self._was_activated = self._was_configured = False
        self._refusals: Counter[str] = Counter()  # logged ones, by reason
        self._looked, self._simulations = -math.inf, set[str]()
        if not self._settings.value.robot:
            timeout = self._settings.value.description_timeout
            self._waiting = AwaitedDescription(self, timeout, self._described, self._give_up)
        self.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    # --- parameters -------------------------------------------------------------------------------------------------
    def _change(self, old: ControllerSettings, new: ControllerSettings) -> None:
        if new.controller != old.controller:
            self._use(new.controller, self._law_settings[new.controller], self._shaping.value, keep=False)
            if self._action is not None:
                self._action.serve(new.controller)
            self.get_logger().info(f"controller is {new.controller}; its settings are {new.controller}.*")
        if self.thread is not None and new.state_rate != old.state_rate:
            self.thread.change(self._loop_settings.value, new.state_rate)
        if self._action is not None:
            self._action.settings = new

    def _change_loop(self, _: LoopSettings, new: LoopSettings) -> None:
        if self.thread is not None:
            self.thread.change(new, self._settings.value.state_rate)

    def _change_shaping(self, _: ShapingSettings, new: ShapingSettings) -> None:
        name = self._settings.value.controller
        self._use(name, self._laws[name].value, new, keep=True)

    def _retune(self, name: str, _: object, new: object) -> None:
        self._law_settings[name] = new
        if name == self._settings.value.controller:
            self._use(name, new, self._shaping.value, keep=True)

    def _use(self, name: str, settings: Any, shaping: ShapingSettings, *, keep: bool) -> None:
        """Switch to a new controller; an AdaError leaves the node unchanged."""
        if self.thread is not None:
            self.thread.switch(self._make(name, settings, shaping), keep=keep)

    def _make(self, name: str, settings: Any, shaping: ShapingSettings) -> Controller[Any]:
        """Create a controller and compile its kernels."""
        assert self._model is not None
        controller = find(name)(self._model, settings, shaping)
        latest = None if self.thread is None else self.thread.control.latest
        warm_up(controller, None if latest is None else latest.state)
        return controller

    # --- the robot --------------------------------------------------------------------------------------------------
    def _described(self, text: str) -> None:
        if self.phase == UNCONFIGURED:
            self._description = text

    def _give_up(self, problem: Exception) -> None:
        if self._settings.value.autostart:
            self.failure = problem

    def _load(self) -> Model:
        settings = self._settings.value
        source = settings.robot or self._description
        if source is None:
            raise InputError(
                f"no robot description received on {self._waiting.topic} yet. Start its publisher, such as "
                "dynamics_node, or name a robot: -p robot:=pa10 (names: ada list)."
            )
        return settings.load(source)

    # --- transitions ------------------------------------------------------------------------------------------------
    def _thread(self) -> ControlThread:
        if self.thread is None:
            raise AdaError("the node is not configured.")
        return self.thread

    def _configure(self) -> None:
        settings = self._settings.value
        self._model = model = self._load()
        name = settings.controller
        controller = self._make(name, self._laws[name].value, self._shaping.value)
        thread = ControlThread(self, controller, settings, self._loop_settings.value, self._thread_ended)
        health = Diagnostics(self, model.name)
        health.add("control", lambda: control_status(thread))
        health.add("periods", control_periods(thread))
        phase = PhaseInput(self, settings.hardware, thread.inputs.topic, thread.robot_is)
        self._parts = [thread, health, phase, ReferenceInputs(self, thread, settings.frame_prefix)]
        kind = action_type()
        if kind is not None:
            self._action = TrajectoryAction(self, thread, settings, kind)
            self._parts.append(self._action)
        reduce_interpreter_jitter()
        thread.start()
        self.thread = thread
        self.get_logger().info(
            f"{model.name}: {controller.NAME} commands the {controller.KIND} of {len(controller.joints)} joints, "
            f"states from {thread.inputs.topic}, up to {settings.rate:g} Hz"
        )

    def _activate(self) -> None:
        """Start the controller in the present state."""
        thread = self._thread()
        thread.activate()
        self.get_logger().info(f"{thread.control.controller.NAME} is active")

    def _deactivate(self) -> None:
        """Stop the controller with its last command."""
        self._thread().deactivate()

    def _clean_up(self) -> None:
        self.close()

    def _log_refusal(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=_LOG_INTERVAL)  # activation is retried

    def _after_mistake(self, problem: Exception) -> TransitionCallbackReturn:
        self.failure = problem
        return TransitionCallbackReturn.ERROR

    def _thread_ended(self, problem: BaseException) -> None:
        self.failure = problem if isinstance(problem, Exception) else RuntimeError(str(problem))

    # --- periodic checks ----------------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Configure and activate automatically, and deactivate when the control loop has ended."""
        thread = self.thread
        if thread is not None:
            self._log_refusals(thread)
            self._look_for_simulation(thread)
            if self.phase == ACTIVE and not thread.control.is_active:
                self.get_logger().error(
                    f"stopped: {thread.control.reason}. After the cause is removed: "
                    f"ros2 lifecycle set {self.get_fully_qualified_name()} activate"
                )
                self.trigger_deactivate()
        settings = self._settings.value
        if not settings.autostart:
            return
        if self.phase == UNCONFIGURED and (settings.robot or self._description) and not self._was_configured:
            self._was_configured = True
            if self.trigger_configure() != SUCCESS and self.failure is None:
                self.failure = self.problem  # end the node, because nothing retries
        elif self.phase == INACTIVE and not self._was_activated and thread is not None:
            if thread.control.latest is None:
                self.get_logger().info(f"waiting for a state on {thread.inputs.topic}", once=True)
            else:
                self._was_activated = self.trigger_activate() == SUCCESS

    def _look_for_simulation(self, thread: ControlThread) -> None:
        """Detect whether the states come from simulations only, whose nodes subscribe to set_state."""
        now = SYSTEM_CLOCK()
        if now - self._looked < _LOOK_AT_GRAPH:
            return
        self._looked = now
        found = {
            one.node_namespace.rstrip("/") + "/" + one.node_name
            for one in self.get_publishers_info_by_topic(thread.inputs.topic)
        }
        if found and found != self._simulations:  # the endpoints of an ending simulation vanish one by one
            is_simulated = all(self.count_subscribers(f"{name}/set_state") for name in found)
            self._simulations = found if is_simulated else set()
            thread.control.is_simulated = is_simulated

    def _log_refusals(self, thread: ControlThread) -> None:
        """Log refused references at once, since the user waits for their effect, and other inputs less often."""
        control, log = thread.control, self.get_logger()
        for reason, count in (Counter(dict(control.refused)) - self._refusals).items():
            text = f"refused {count}, the last one: {control.last_refusals[reason]}"
            if reason == REFERENCE:
                is_said = log.warning(text, throttle_duration_sec=1.0)
            else:
                is_said = log.warning(text, throttle_duration_sec=_LOG_INTERVAL)
            self._refusals[reason] += count if is_said else 0

    def close(self) -> None:
        """End the controller with its last command, and release the robot."""
        self.thread = self._action = None
        self._simulations = set()
        parts, self._parts = self._parts, []
        for part in reversed(parts):
            part.close()
        self._refusals.clear()


def warm_up(controller: Controller[Any], state: State | None = None) -> None:
    """Compile the kernels of a controller.

    Args:
        controller: controller not yet in use.
        state: state near the expected ones; None for the initial configuration of the file, with closed loops, at rest.
    """
    model = controller.model
    try:
        at = State(close_loops(model), np.zeros(model.nv)) if state is None else state
        controller.reset(at, 0.0)
        controller.update(at, controller.reference, 1e-3)
    except AdaError:
        pass  # impossible in this state; checked again at activation


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until it ends."""
    return run_node(ControllerNode, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
