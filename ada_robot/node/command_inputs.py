# SPDX-License-Identifier: Apache-2.0
"""Subscriptions of the dynamics node: joint commands, trajectories, wrenches and states; imports rclpy.

The physics thread itself fetches joint_commands at each wake-up, so that no other thread delays them. The other topics
are received by the executor. Each message is checked as a whole; a refused one has no effect, is counted, logged at
intervals, and reported in /diagnostics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.contract import Reason, Refusal
from ada_robot.limits import CommandGuard
from ada_robot.messages.incoming import command_of, offered_trajectory
from ada_robot.node.plant_loop import PlantLoop, done
from ada_robot.ros import qos
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.status import Level, Status
from ada_robot.simulated.settings import DynamicsSettings
from ada_robot.simulated.source import state_with

_COMMANDS = "joint_commands"
_QUEUE = QoSProfile(depth=20, reliability=qos.COMMANDS.reliability)  # joints may be commanded by several messages


class CommandInputs:
    """Incoming topics of the dynamics node.

    Attributes:
        guard: check of joint_commands, with its counters.
        others: number of messages refused on the other topics, by topic.
    """

    def __init__(self, node: Node, loop: PlantLoop, settings: DynamicsSettings, now: Callable[[], float]) -> None:
        """Subscribe; `now` returns the present time on the clock of the stamps [s]."""
        self._node, self._loop, self._now = node, loop, now
        self._plant, self._bounds = loop.plant, loop.plant.bounds
        self.guard = CommandGuard(self._bounds.limits(self._plant.motors))
        self.change(settings)
        self._said: Counter[str] = Counter()  # logged refusals
        self._age: float | None = None  # age of the latest command by its stamp [s]
        self.others: Counter[str] = Counter()
        self._last: dict[str, str] = {}  # latest refusals on the other topics
        self._commands = Inbox(node, JointState, _COMMANDS, _QUEUE)
        node.create_subscription(JointTrajectory, "joint_trajectory", self._trajectory, qos.COMMANDS)
        node.create_subscription(WrenchStamped, "~/external_wrench", self._wrench, qos.STATES)
        node.create_subscription(JointState, "~/set_state", self._set_state, qos.COMMANDS)

    def change(self, settings: DynamicsSettings) -> None:
        """Apply changed parameters."""
        self._settings = settings
        self.guard.max_age, self.guard.max_jump = settings.max_command_age, settings.max_position_jump
        self._plant.trajectory.max_jump = settings.max_position_jump

    # --- in the physics thread ----------------------------------------------------------------------------------
    def listen(self) -> None:
        """Pass received commands to the plant."""
        for message in self._commands.fetch():
            self._command(message)

    def _command(self, message: JointState) -> None:
        command = command_of(message)
        now = self._now()
        if command.stamp is not None:
            self._age = now - command.stamp
        if self.guard.check(command, now, self._plant.positions()) is None:
            self._plant.command(command)

    # --- in the executor's thread -------------------------------------------------------------------------------
    def _trajectory(self, message: JointTrajectory) -> None:
        offered = offered_trajectory(message, round(self._now() * NANOSECONDS))
        future = self._loop.post(lambda: self._plant.follow(offered))
        future.add_done_callback(lambda done: self._report("joint_trajectory", done))

    def _wrench(self, message: WrenchStamped) -> None:
        force, torque = message.wrench.force, message.wrench.torque
        wrench = [force.x, force.y, force.z, torque.x, torque.y, torque.z]
        link = message.header.frame_id.removeprefix(self._settings.frame_prefix)
        duration = self._settings.external_wrench_duration
        try:
            self._bounds.check_wrench(wrench, link)
        except InputError as problem:
            self._refuse("external_wrench", str(problem))
            return
        future = self._loop.post(lambda: self._plant.push(link, wrench, duration))
        future.add_done_callback(lambda done: self._report("external_wrench", done))

    def _set_state(self, message: JointState) -> None:
        names = list(message.name)
        position, velocity = message.position.tolist(), message.velocity.tolist()
        try:
            if len(set(names)) != len(names) or not names:
                raise InputError("name must list at least one joint, each once.")
            if len(position) not in (0, len(names)) or len(velocity) not in (0, len(names)):
                raise InputError(
                    f"{len(names)} names, {len(position)} positions and {len(velocity)} velocities; "
                    "give one of each per name, or none."
                )
            positions = dict(zip(names, position, strict=False))
            velocities = dict(zip(names, velocity, strict=False))
            present = done(self._loop.post(lambda: self._plant.simulation.q))
            self._bounds.check_joints(positions, velocities)
            q, v = state_with(self._plant.model, present, positions, velocities)
            self._bounds.check_moved(present, q)
            self._bounds.check_velocities(v)
        except AdaError as problem:
            self._refuse("set_state", str(problem))
            return
        changed = self._loop.change(lambda: self._plant.reset(q, v))
        changed.add_done_callback(lambda done: self._report("set_state", done))

    # --- refusals -----------------------------------------------------------------------------------------------
    def _report(self, topic: str, done: Future[Refusal | None] | Future[None]) -> None:
        """Count refusals by the physics thread; called in that thread."""
        if done.cancelled():
            return
        problem = done.exception()
        if isinstance(problem, AdaError):
            self._refuse(topic, str(problem))
        elif problem is not None:
            self._refuse(topic, f"{type(problem).__name__}: {problem}")
        elif isinstance(refusal := done.result(), Refusal):
            self._refuse(topic, refusal.text)

    def _refuse(self, topic: str, text: str) -> None:
        self.others[topic] += 1
        self._last[topic] = text

    def _log_new(self) -> str:
        """Log refusals since the last report, because the physics thread has no time for it; return the last one."""
        guard = self.guard
        counts = self.others + Counter({_COMMANDS: sum(guard.refused.values())})
        last = {**self._last, _COMMANDS: guard.last_refusal}
        text = ""
        for topic, count in (counts - self._said).items():
            text = f"refused {count} on {topic}, the last one: {last[topic]}"
            self._node.get_logger().warning(text)
        self._said = counts
        return text

    # --- diagnostics --------------------------------------------------------------------------------------------
    def status(self) -> Status:
        """Return the status of received messages and their publishers."""
        guard = self.guard
        newest = self._log_new()
        senders = sorted(self._commands.senders().values())
        values: dict[str, object] = {
            "accepted": guard.accepted,
            "refused": sum(guard.refused.values()),
            "publishers of joint_commands": ", ".join(senders) or "none",
        }
        values["commands timed out"] = self._plant.stale
        reasons = guard.refused + self._plant.trajectory.refused
        values.update({f"refused: {Reason(reason).name.lower()}": n for reason, n in sorted(reasons.items())})
        values.update({f"refused on {topic}": n for topic, n in sorted(self.others.items())})
        values.update({f"last refusal on {topic}": text for topic, text in sorted(self._last.items())})
        if guard.last_accepted_at is not None:
            values["age of the last accepted command [s]"] = self._now() - guard.last_accepted_at
        if self._age is not None:
            values["command age by its stamp [ms]"] = 1e3 * self._age
        if guard.last_refusal:
            values["last refusal"] = guard.last_refusal
        if len(senders) > 1:
            return Status(Level.WARN, f"{len(senders)} publishers of joint_commands: use only one", values)
        if newest:
            return Status(Level.WARN, newest, values)
        return Status(Level.OK, "no message was refused since the last report", values)
