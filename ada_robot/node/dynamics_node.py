# SPDX-License-Identifier: Apache-2.0
"""Dynamics node: a simulated robot as a ROS 2 robot; imports rclpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import options_of
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_dynamics.simulation.scene import Scene
from ada_dynamics.simulation.simulation import Simulation
from ada_dynamics.simulation.system import frictionless
from ada_robot.node.command_inputs import CommandInputs
from ada_robot.node.load_publishers import LoadPublishers
from ada_robot.node.plant_loop import Blueprint, PhysicsStatus, PlantLoop, loop_status
from ada_robot.node.plant_recording import PlantRecording
from ada_robot.node.plant_services import LACKING, PlantServices, StandardServices
from ada_robot.node.state_publishers import StatePublishers
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.inbox import AwaitedDescription
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.ros.status import Level, Status
from ada_robot.simulated.plant import Plant, Snapshot
from ada_robot.simulated.settings import DynamicsSettings, ServoGains
from ada_robot.simulated.source import bounds_of, initial_state, load_robot, scene_of, simulation_of, start_snapshot
from ada_robot.timing.deadlines import Stamps, reduce_interpreter_jitter

NAME = "dynamics_node"
_LOG_INTERVAL = 10.0  # minimum time between warnings of dropped time [s]
SERVO = "servo"  # prefix of the servo gains of joints
ACTING_GRAVITY = "model.gravity"  # read-only; the model's gravity if the parameter gravity is empty


class DynamicsNode(Node):
    """Simulates a robot, publishes its state, and drives its motors by commands.

    Attributes:
        failure: exception that ended the node, for `run_node`; None while it runs.
        loop: physics thread; None until the robot is known.
        outlives_callbacks: invalid messages on which rclpy itself raises, such as negative /clock times, are survived.
    """

    outlives_callbacks = True

    def __init__(self, *, simulate: Callable[..., Simulation] = simulation_of, **arguments: object) -> None:
        """Load the robot, or wait for its description.

        Args:
            simulate: creates the simulation, like `simulation_of`.
            arguments: arguments of rclpy's Node, such as `context` and `parameter_overrides`.

        Raises:
            AdaError: if a parameter or the robot is invalid.
        """
        super().__init__(NAME, **arguments)
        self.failure: Exception | None = None
        self.loop: PlantLoop | None = None
        self._simulate = simulate
        self._settings = Parameters(self, DynamicsSettings, on_change=self._change)
        self._recording: PlantRecording | None = None
        settings = self._settings.value
        if settings.publish_clock and self.get_parameter("use_sim_time").value:
            raise InputError(
                "publish_clock and use_sim_time are both true: this node cannot follow the clock that it publishes. "
                "Set use_sim_time on the other nodes only."
            )
        if settings.publish_rate > settings.physics_rate:
            raise InputError(
                f"parameter publish_rate is {settings.publish_rate:g}; it must not exceed physics_rate, "
                f"{settings.physics_rate:g} Hz."
            )
        refuse_unknown_overrides(self, later=(f"{SERVO}.",))
        if settings.robot:
            self._set_up(None)
        else:
            self._waiting = AwaitedDescription(self, settings.description_timeout, self._described, self._end)

    # --- the robot ----------------------------------------------------------------------------------------------
    def _described(self, text: str) -> None:
        self._waiting.close()
        try:
            self._set_up(text)
        except Exception as problem:  # without a robot the node ends
            self.failure = problem

    def _set_up(self, described: str | None) -> None:
        settings = self._settings.value
        model = self._model = load_robot(settings, described)
        gains = {name: Parameters(self, ServoGains, prefix=f"{SERVO}.{name}").value for name in motor_joints(model)}
        own = {name: (gain.stiffness, gain.damping) for name, gain in gains.items() if gain != ServoGains()}
        refuse_unknown_overrides(self)
        about = ParameterDescriptor(description="gravity vector that acts, in the world [m/s^2]", read_only=True)
        self.declare_parameter(ACTING_GRAVITY, list(model.gravity), about)
        scene, bounds = scene_of(model, settings), bounds_of(model, settings)
        start = start_snapshot(model, scene, settings)
        self.loop = loop = PlantLoop(
            Blueprint(start, 1.0 / settings.physics_rate, lambda leave_off: self._make(model, scene, own, leave_off)),
            self._publish,
            every=round(settings.physics_rate / settings.publish_rate),
            real_time_factor=settings.real_time_factor,
            paused=settings.start_paused,
            listen=self._listen,
            follows=self._ros_time if self.get_parameter("use_sim_time").value else None,
            stamps=None if settings.publish_clock else Stamps.of(self.get_clock()),
            priority=settings.realtime_priority,
            on_ready=self._begins,
            on_failure=self._end,
        )
        # separate kinematics, because the plant is not compiled yet
        poses = Dynamics(frictionless(model), q0=scene.q if model.loops else None)
        self._out = StatePublishers(self, model, poses, settings, publishes_description=not described)
        self._loads = LoadPublishers(
            self, model, scene, settings, world_frame=self._out.world_frame, latest=lambda: loop.latest
        )
        self._in = CommandInputs(self, model, bounds, loop, settings, self._now)
        self._on_request = PlantServices(self, loop, lambda: self._settings.value)
        if LACKING is None:
            self._on_standard_request = StandardServices(self, loop, self._on_request)
        self._health = Diagnostics(self, model.name)
        self._health.add("physics", self._physics_status)
        self._health.add("commands", self._in.status)
        self._health.add("wrenches and markers", self._loads.status)
        if model.loops:
            self._health.add("loops", loop_status(model, loop))
        self._physics = PhysicsStatus(loop)
        try:
            loop.start()
            self.get_logger().info(f"{model.name}: compiling the physics; takes longest at the first start of a robot")
        except BaseException:  # a signal may interrupt after the threads have started
            self.close()
            raise

    # --- in the compiler thread ---------------------------------------------------------------------------------
    def _make(
        self, model: Model, scene: Scene, gains: dict[str, tuple[float, float]], leave_off: Callable[[], None]
    ) -> Plant:
        """Compile everything before the physics runs, so that it does not have to wait."""
        settings, bounds = self._settings.value, bounds_of(model, self._settings.value)
        simulation = self._simulate(model, settings, gains, scene)
        leave_off()
        plant = Plant(simulation, idle=settings.idle, timeout=settings.command_timeout, bounds=bounds)
        plant.warm_up()
        leave_off()
        self._loads.warm_up()
        leave_off()
        if settings.record:
            self._recording = PlantRecording(settings.record, plant, on_failure=lambda x: self.get_logger().warning(x))
            self._health.add("recording", self._recording.status)
        reduce_interpreter_jitter()
        return plant

    # --- in the physics thread, before the first step -----------------------------------------------------------
    def _begins(self, plant: Plant) -> None:
        settings, model = self._settings.value, plant.model
        plant.set_rules(idle=settings.idle, timeout=settings.command_timeout)  # may have changed during compilation
        self._in.began(plant)
        self._loads.start()
        assert self.loop is not None
        self.get_logger().info(
            f"{model.name}: {model.nv} velocities, {len(plant.motors)} motors, {settings.physics_rate:g} Hz "
            f"({plant.simulation.method.name}, {options_of(plant.dynamics)['algorithm']}), joint_states at "
            f"{settings.physics_rate / self.loop.every:g} Hz, compiled in {self.loop.compiled_for:.1f} s"
            + (", paused" if settings.start_paused else "")
        )

    # --- time ---------------------------------------------------------------------------------------------------
    def _now(self) -> float:
        """Present time on the clock of the stamps [s]."""
        if self._settings.value.publish_clock and self.loop is not None:
            return self.loop.latest.t
        return float(self.get_clock().now().nanoseconds) / NANOSECONDS

    def _ros_time(self) -> float | None:
        """Present time of /clock [s]; None before its first message."""
        nanoseconds = self.get_clock().now().nanoseconds
        return float(nanoseconds) / NANOSECONDS if nanoseconds else None

    # --- in the physics thread ----------------------------------------------------------------------------------
    def _listen(self) -> None:
        self._in.listen()

    def _publish(self, snapshot: Snapshot) -> None:
        runs = self.loop is not None and self.loop.is_ready
        self._out.publish(snapshot, runs=runs)
        if runs and self._recording is not None:
            self._recording.take(snapshot)

    def _physics_status(self) -> Status:
        status = self._physics()
        dropped = status.values["time dropped since the last report [s]"]
        if isinstance(dropped, float) and dropped > 0.0:
            self.get_logger().warning(f"physics: {status.message}", throttle_duration_sec=_LOG_INTERVAL)
        return status

    def _end(self, problem: BaseException) -> None:
        self.failure = problem if isinstance(problem, Exception) else RuntimeError(str(problem))

    # --- parameters ---------------------------------------------------------------------------------------------
    def _change(self, old: DynamicsSettings, new: DynamicsSettings) -> None:
        loop = self.loop
        if loop is None:
            return
        if (old.initial_positions, old.initial_velocities) != (new.initial_positions, new.initial_velocities):
            initial_state(self._model, new)  # refuse a state that ~/reset could not use
        if new.wrenches != old.wrenches:
            self._loads.choose(new.wrenches)
        if new.real_time_factor != old.real_time_factor:
            loop.set_real_time_factor(new.real_time_factor)
        self._in.change(new)
        if loop.is_ready:
            loop.post(lambda: loop.plant.set_rules(idle=new.idle, timeout=new.command_timeout))

    def close(self) -> None:
        """End the physics and its recording."""
        if self.loop is not None:
            self.loop.stop()
            self._loads.stop()
        if self._recording is not None:
            self._recording.close()
            status = self._recording.status()
            if status.level == Level.WARN:  # after the last report on /diagnostics
                self.get_logger().warning(f"{status.values['file']}: {status.message}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until it ends."""
    return run_node(DynamicsNode, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
