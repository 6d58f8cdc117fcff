# SPDX-License-Identifier: Apache-2.0
"""A lifecycle node: its transitions, failed ones, and those that its state does not allow.

rclpy's own lets a request for the latter, which any client on the network can send, end the node (ros2/rclpy#1209).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from ada_dynamics.errors import AdaError

UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = "unconfigured", "inactive", "active", "finalized"
SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class ManagedNode(LifecycleNode):
    """A lifecycle node; `run_node` keeps it running when one of its callbacks fails.

    Attributes:
        outlives_callbacks: a failed callback must not release what it holds, such as a robot.
        failure: what ended the node, for `run_node`; None while all is well.
        phase: of its life: "unconfigured", "inactive" or "active".
        problem: why the last transition failed; None where it did not.
    """

    outlives_callbacks = True
    failure: Exception | None = None
    phase = UNCONFIGURED
    problem: Exception | None = None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Get ready; nothing moves."""
        return self._attempt("configure", self._configure, INACTIVE)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let the robot move, from where it is."""
        return self._attempt("activate", self._activate, ACTIVE)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring it to rest."""
        return self._attempt("deactivate", self._deactivate, INACTIVE)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of it."""
        return self._attempt("clean up", self._clean_up, UNCONFIGURED)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of it for good."""
        return self._attempt("shut down", self._clean_up, FINALIZED)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After an unexpected error."""
        return self._attempt("recover", self._clean_up, UNCONFIGURED)

    def destroy_node(self) -> None:
        """Destroy the state machine, too: rclpy leaves it, and it keeps the participant until the process has ended."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def _attempt(self, what: str, action: Callable[[], None], phase: str) -> TransitionCallbackReturn:
        """Run a transition, and log errors: rclpy swallows them."""
        self.problem = None
        try:
            action()
        except AdaError as problem:
            self.problem = problem
            self._log_refusal(f"cannot {what}: {problem}")
            return FAILURE
        except Exception as problem:
            self.problem = problem
            self.get_logger().error(f"cannot {what}:\n{traceback.format_exc()}")
            return self._after_mistake(problem)
        self.phase = phase
        self._has_changed()
        return SUCCESS

    def _configure(self) -> None:
        raise NotImplementedError

    def _activate(self) -> None:
        raise NotImplementedError

    def _deactivate(self) -> None:
        raise NotImplementedError

    def _clean_up(self) -> None:
        raise NotImplementedError

    def _has_changed(self) -> None:
        """Called in each new phase."""

    def _log_refusal(self, text: str) -> None:
        self.get_logger().error(text)

    def _after_mistake(self, problem: Exception) -> TransitionCallbackReturn:
        """Result of a transition with an unexpected error: no reason to let go of other robots."""
        return FAILURE

    # rclpy's private method, under the name that Python gives it: services and `trigger_...` both end there.
    def _LifecycleNodeMixin__change_state(self, transition_id: int) -> TransitionCallbackReturn:
        allowed = {number: label for number, label, *_ in self._state_machine.available_transitions}
        if transition_id not in allowed:
            _, state = self._state_machine.current_state
            ways = ", ".join(f"{label} ({number})" for number, label in sorted(allowed.items())) or "nothing"
            text = f"transition {transition_id} is refused: the node is {state}, which can be left by {ways}."
            self.get_logger().warning(text)
            return FAILURE
        return super()._LifecycleNodeMixin__change_state(transition_id)
