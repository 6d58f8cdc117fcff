# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that survives failed and invalid transitions.

In rclpy, a request for an invalid transition, which any client can send, ends the node (ros2/rclpy#1209).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from ada_dynamics.errors import AdaError

UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = "unconfigured", "inactive", "active", "finalized"
SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class ManagedNode(LifecycleNode):
    """Lifecycle node; `run_node` keeps it running when one of its callbacks fails.

    Attributes:
        outlives_callbacks: whether the node survives failed callbacks, to keep control of its robots.
        failure: exception that ended the node, for `run_node`; None while it runs.
        phase: lifecycle state: "unconfigured", "inactive" or "active".
        problem: exception of the last transition; None if it succeeded.
    """

    outlives_callbacks = True
    failure: Exception | None = None
    phase = UNCONFIGURED
    problem: Exception | None = None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure without motion."""
        return self._attempt("configure", self._configure, INACTIVE)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Allow motion of the robots."""
        return self._attempt("activate", self._activate, ACTIVE)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the robots to rest."""
        return self._attempt("deactivate", self._deactivate, INACTIVE)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the robots."""
        return self._attempt("clean up", self._clean_up, UNCONFIGURED)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the robots before the node ends."""
        return self._attempt("shut down", self._clean_up, FINALIZED)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Clean up after an unexpected error."""
        return self._attempt("recover", self._clean_up, UNCONFIGURED)

    def destroy_node(self) -> None:
        """Destroy the state machine as well, which rclpy keeps until the process ends."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def _attempt(self, what: str, action: Callable[[], None], phase: str) -> TransitionCallbackReturn:
        """Run a transition and log its errors, which rclpy discards."""
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

    # the transitions, which subclasses define
    _configure: Callable[[], None]
    _activate: Callable[[], None]
    _deactivate: Callable[[], None]
    _clean_up: Callable[[], None]

    def _has_changed(self) -> None:
        """Called after each transition."""

    def _log_refusal(self, text: str) -> None:
        self.get_logger().error(text)

    def _after_mistake(self, problem: Exception) -> TransitionCallbackReturn:
        """Return the result of a transition with an unexpected error; other robots are kept."""
        return FAILURE

    # private method of rclpy under its mangled name; called by services and by `trigger_...`
    def _LifecycleNodeMixin__change_state(self, transition_id: int) -> TransitionCallbackReturn:
        allowed = {number: label for number, label, *_ in self._state_machine.available_transitions}
        if transition_id not in allowed:
            _, state = self._state_machine.current_state
            ways = ", ".join(f"{label} ({number})" for number, label in sorted(allowed.items())) or "none"
            text = f"transition {transition_id} refused: the node is {state}; allowed transitions: {ways}."
            self.get_logger().warning(text)
            return FAILURE
        return super()._LifecycleNodeMixin__change_state(transition_id)
