# SPDX-License-Identifier: Apache-2.0
"""A lifecycle node that answers requests for transitions its state does not allow; imports rclpy.

rclpy's own lets such a request, which any client on the network can send, end the node (ros2/rclpy#1209).
"""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn


class ManagedNode(LifecycleNode):
    """A node with a life; `run_node` lets it live on when one of its callbacks fails.

    Attributes:
        outlives_callbacks: what it holds, such as a robot, must not be let go of because of a mistake elsewhere.
    """

    outlives_callbacks = True

    # rclpy's private method, under the name that Python gives it: services and `trigger_...` both end there.
    def _LifecycleNodeMixin__change_state(self, transition_id: int) -> TransitionCallbackReturn:
        allowed = {number: label for number, label, *_ in self._state_machine.available_transitions}
        if transition_id not in allowed:
            _, state = self._state_machine.current_state
            self.get_logger().warning(
                f"transition {transition_id} is refused: the node is {state}, which can be left by "
                + (", ".join(f"{label} ({number})" for number, label in sorted(allowed.items())) or "nothing")
                + "."
            )
            return TransitionCallbackReturn.FAILURE
        return super()._LifecycleNodeMixin__change_state(transition_id)
