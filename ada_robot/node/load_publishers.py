# SPDX-License-Identifier: Apache-2.0
"""Publishers of joint wrenches and markers of the dynamics node, in separate threads; imports rclpy.

They take a millisecond, ten times as long as joint states, so that the physics thread must not wait for them. Executor
timers would cost more than the computation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from ada_dynamics.contact.contact import contact_frames
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.scene import Scene
from ada_dynamics.simulation.system import frictionless
from ada_robot.messages.markers import MarkerMessages
from ada_robot.messages.marks import Marks
from ada_robot.messages.wrenches import JointLoads, WrenchMessages, passive_efforts
from ada_robot.ros import qos
from ada_robot.ros.status import Level, Status
from ada_robot.simulated.plant import Snapshot
from ada_robot.simulated.settings import DynamicsSettings
from ada_robot.timing.deadlines import DeadlineLoop

_MARKERS_LAST = 5.0  # lifetime of markers, in periods
_WARN_EVERY = 10.0  # minimum time between warnings [s]


class LoadPublishers:
    """Publishers of ~/wrench/<joint> and ~/markers."""

    def __init__(self, node: Node, model: Model, scene: Scene, settings: DynamicsSettings, *, world_frame: str) -> None:
        """Create the publishers; `start` starts their threads.

        Raises:
            InputError: if a joint in the parameter wrenches is unknown.
        """
        self._node, self._world_frame = node, world_frame
        # separate kernels, because kernels are not thread-safe; friction is added by `passive_efforts`
        self._dynamics = Dynamics(frictionless(model), q0=scene.q if model.loops else None)
        self._efforts = passive_efforts(model, scene.stops)
        self._frames = contact_frames(scene.contact)
        self._ground = None if scene.contact is None else 0.0
        self._prefix = settings.frame_prefix
        self._lock = threading.Lock()  # the executor's thread changes the choice
        self._topics: dict[str, Any] = {}
        self._loads: JointLoads | None = None
        self._wrenches: WrenchMessages | None = None
        self.choose(settings.wrenches)
        self._loops = [DeadlineLoop(1.0 / settings.wrench_rate, self._publish_wrenches, name="wrenches")]
        if settings.marker_rate > 0.0:
            self._marker_messages = MarkerMessages(world_frame, _MARKERS_LAST / settings.marker_rate)
            self._markers = node.create_publisher(MarkerArray, "~/markers", qos.STATES)
            self._loops.append(DeadlineLoop(1.0 / settings.marker_rate, self._publish_markers, name="markers"))

    def choose(self, joints: tuple[str, ...]) -> None:
        """Publish the wrenches of these joints from now on. InputError if a joint is unknown."""
        model = self._dynamics.model
        loads = None
        if joints:
            loads = JointLoads(model, self._dynamics, joints, contact_frames=self._frames, efforts=self._efforts)
        with self._lock:
            self._marks = Marks(model, self._dynamics, loads, contact_frames=self._frames, ground=self._ground)
            self._loads = loads
            self._wrenches = None if loads is None else WrenchMessages(loads, self._world_frame, self._prefix)
            requested = {} if self._wrenches is None else self._wrenches.topics
            for joint in self._topics.keys() - requested.keys():
                self._node.destroy_publisher(self._topics.pop(joint))
            for joint, topic in requested.items():
                if joint not in self._topics:
                    name = f"~/wrench/{topic}"
                    self._topics[joint] = self._node.create_publisher(WrenchStamped, name, qos.STATES)

    def warm_up(self, snapshot: Snapshot) -> None:
        """Compile everything by computing the messages of a state."""
        with suppress(AdaError):  # impossible in this state; reported when published
            if self._wrenches is not None:
                self._wrenches.encode(snapshot, 0)
            self._marks.at(snapshot)

    def start(self, latest: Callable[[], Snapshot]) -> None:
        """Start the threads, which publish the state that `latest` returns."""
        self._latest = latest
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        """Stop the threads."""
        for loop in self._loops:
            loop.stop()

    # --- in the threads -----------------------------------------------------------------------------------------
    def _publish_wrenches(self, _: int) -> None:
        snapshot = self._latest()
        with self._lock, self._said("wrenches"):
            if self._wrenches is not None:
                for joint, message in self._wrenches.encode(snapshot, snapshot.stamp).items():
                    self._topics[joint].publish(message)

    def _publish_markers(self, _: int) -> None:
        if not self._markers.get_subscription_count():
            return
        snapshot = self._latest()
        with self._lock, self._said("markers"):
            self._markers.publish(self._marker_messages.message(self._marks.at(snapshot), snapshot.stamp))

    # --- for /diagnostics ---------------------------------------------------------------------------------------
    def status(self) -> Status:
        """Return the status, with the joints whose wrenches are indeterminate."""
        open_ones = () if self._loads is None else self._loads.not_unique
        values = {"wrenches of": ", ".join(self._topics), "not determined by the motion": ", ".join(open_ones)}
        for loop in self._loops:
            if loop.failure is not None:
                return Status(Level.ERROR, f"a thread has ended: {loop.failure}", values)
        if open_ones:
            return Status(Level.OK, "some wrenches are indeterminate because of redundant constraints", values)
        return Status(Level.OK, "published", values)

    @contextmanager
    def _said(self, what: str) -> Iterator[None]:
        """Log at intervals why a message could not be computed, such as for a non-finite state."""
        try:
            yield
        except AdaError as problem:
            self._node.get_logger().warning(f"no {what}: {problem}", throttle_duration_sec=_WARN_EVERY)
