# SPDX-License-Identifier: Apache-2.0
"""Dynamics node: a simulated robot as a ROS 2 robot; imports rclpy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from std_srvs.srv import SetBool, Trigger

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import options_of
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_dynamics.simulation.scene import Scene
from ada_dynamics.simulation.simulation import Simulation
from ada_dynamics.simulation.system import frictionless
from ada_robot.node.command_inputs import CommandInputs
from ada_robot.node.described_node import DescribedNode
from ada_robot.node.plant_loop import PhysicsStatus, PlantLoop, done, loop_status
from ada_robot.node.standard_services import LACKING, StandardServices
from ada_robot.node.state_publishers import LoadPublishers, StatePublishers
from ada_robot.processes import COMPILER
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.ros.status import Level, Status, answered
from ada_robot.simulated.plant import Plant
from ada_robot.simulated.settings import DynamicsSettings, ServoGains
from ada_robot.simulated.source import bounds_of, initial_state, load_robot, scene_of, simulation_of
from ada_robot.timing.deadlines import Stamps, reduce_interpreter_jitter

NAME = "dynamics_node"
_LOOK = 0.02  # interval of checks for the end of the compilation [s]
_LAST_WORDS = 0.2  # delay between the request to quit and the end of the node, to send the response [s]
_BATCH = 200  # maximum number of steps per request to the physics thread
SERVO = "servo"  # prefix of the servo gains of joints
ACTING_GRAVITY = "model.gravity"  # read-only; the model's gravity if the parameter gravity is empty


class DynamicsNode(DescribedNode[DynamicsSettings]):
    """Simulates a robot, publishes its state, and drives its motors by commands.

    Attributes:
        loop: physics thread; None until the physics is compiled.
    """

    def __init__(self, *, simulate: Callable[..., Simulation] = simulation_of, **arguments: object) -> None:
        """Load the robot, or wait for its description.

        Args:
            simulate: creates the simulation, like `simulation_of`.
            arguments: arguments of rclpy's Node, such as `context` and `parameter_overrides`.

        Raises:
            AdaError: if a parameter or the robot is invalid.
        """
        self.is_quitting = False
        self.loop: PlantLoop | None = None
        self._simulate, self._ending = simulate, threading.Event()
        self._model: Model | None = None  # None until the robot is known
        self._compiled: tuple[Plant, float] | None = None  # and the duration of the compilation [s]
        super().__init__(NAME, DynamicsSettings, **arguments)
        settings = self._settings.value
        if self.get_parameter("use_sim_time").value:
            raise InputError(
                "use_sim_time is true, but this node has its own time, and can be the clock of other nodes: set "
                "publish_clock here, and use_sim_time on the other nodes only."
            )
        if settings.publish_rate > settings.physics_rate:
            raise InputError(
                f"parameter publish_rate is {settings.publish_rate:g}; it must not exceed physics_rate, "
                f"{settings.physics_rate:g} Hz."
            )
        refuse_unknown_overrides(self, later=(f"{SERVO}.", ACTING_GRAVITY))
        self._find_robot()

    # --- the robot ----------------------------------------------------------------------------------------------
    def _set_up(self, described: str | None) -> None:
        settings = self._settings.value
        model = self._model = load_robot(settings, described)
        gains = {name: Parameters(self, ServoGains, prefix=f"{SERVO}.{name}").value for name in motor_joints(model)}
        own = {name: (gain.stiffness, gain.damping) for name, gain in gains.items() if gain != ServoGains()}
        about = ParameterDescriptor(description="gravity vector that acts, in the world [m/s^2]", read_only=True)
        if list(self.declare_parameter(ACTING_GRAVITY, list(model.gravity), about).value) != list(model.gravity):
            raise InputError(f"parameter {ACTING_GRAVITY} can only be read; set the parameter gravity.")
        refuse_unknown_overrides(self)
        scene = scene_of(model, settings)
        # separate kinematics, because the plant belongs to the physics thread
        poses = Dynamics(frictionless(model), q0=scene.q if model.loops else None)
        self._out = StatePublishers(self, model, poses, settings, publishes_description=not described)
        self._loads = LoadPublishers(self, model, scene, settings, world_frame=self._out.world_frame)
        self._health = Diagnostics(self, model.name)
        self._health.add("physics", lambda: Status(Level.WARN, "the physics is being compiled"))
        self.get_logger().info(f"{model.name}: compiling the physics; takes longest at the first start of a robot")
        # no daemon thread: the interpreter must not end while LLVM is compiling
        self._compiler = threading.Thread(target=self._compile, args=(model, scene, own), name=COMPILER)
        self._compiler.start()
        self._timer = self.create_timer(_LOOK, self._begin_compiled, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _compile(self, model: Model, scene: Scene, gains: dict[str, tuple[float, float]]) -> None:
        """Compile all kernels in a separate thread before the physics starts, which must not wait for it."""
        settings, began = self._settings.value, SYSTEM_CLOCK()
        try:
            simulation = self._simulate(model, settings, gains, scene)
            if self._ending.is_set():
                return
            plant = Plant(simulation, bounds=bounds_of(model, settings))
            plant.warm_up()
            if self._ending.is_set():
                return
            self._loads.warm_up(plant.snapshot())
            reduce_interpreter_jitter()
        except BaseException as problem:
            if not self._ending.is_set():
                self._end(problem)
        else:
            self._compiled = plant, SYSTEM_CLOCK() - began

    def _begin_compiled(self) -> None:
        """Start the physics once it is compiled."""
        if self._compiled is None:
            return
        self._timer.cancel()
        try:
            self._begin(*self._compiled)
        except Exception as problem:
            self._end(problem)

    def _begin(self, plant: Plant, compiled_for: float) -> None:
        settings, model = self._settings.value, plant.model
        loop = PlantLoop(
            plant,
            self._out.publish,
            every=round(settings.physics_rate / settings.publish_rate),
            real_time_factor=settings.real_time_factor,
            paused=settings.start_paused,
            listen=lambda: self._in.listen(),
            stamps=None if settings.publish_clock else Stamps.of(self.get_clock()),
            priority=settings.realtime_priority,
            on_failure=self._end,
        )
        plant.set_rules(idle=settings.idle, timeout=settings.command_timeout)
        self._in = CommandInputs(self, loop, settings, self._now)
        self.create_service(Trigger, "~/reset", lambda _, answer: answered(answer, self.reset))
        self.create_service(SetBool, "~/pause", lambda given, answer: answered(answer, lambda: self.pause(given.data)))
        self.create_service(Trigger, "~/step", lambda _, answer: answered(answer, self.step))
        if LACKING is None:
            self._standard = StandardServices(self, loop)
        self._health.add("physics", PhysicsStatus(loop, warn=lambda text: self.get_logger().warning(text)))
        self._health.add("commands", self._in.status)
        self._health.add("wrenches and markers", self._loads.status)
        if model.loops:
            self._health.add("loops", loop_status(model, loop))
        self.loop = loop
        loop.start()
        self._loads.start(lambda: loop.latest)
        self.get_logger().info(
            f"{model.name}: {model.nv} velocities, {len(plant.motors)} motors, {settings.physics_rate:g} Hz "
            f"({plant.simulation.method.name}, {options_of(plant.dynamics)['algorithm']}), joint_states at "
            f"{settings.physics_rate / loop.every:g} Hz, compiled in {compiled_for:.1f} s"
            + (", paused" if settings.start_paused else "")
        )

    # --- time ---------------------------------------------------------------------------------------------------
    def _now(self) -> float:
        """Present time on the clock of the stamps [s]."""
        if self._settings.value.publish_clock and self.loop is not None:
            return self.loop.latest.t
        return float(self.get_clock().now().nanoseconds) / NANOSECONDS

    # --- services, executed by the physics thread between two steps ---------------------------------------------
    def _running(self) -> PlantLoop:
        assert self.loop is not None  # the services start with it
        return self.loop

    def reset(self, *, state: bool = True, time: bool = False) -> str:
        """End all commands, and reset the robot to its initial state or simulated time to zero; return a message."""
        loop = self._running()
        plant = loop.plant
        q, v = initial_state(plant.model, self._settings.value) if state else (plant.simulation.q, plant.simulation.v)
        done(loop.change(lambda: plant.reset(q, v, restarts_time=time)))
        return f"{plant.model.name} is reset to its initial state; all commands have ended."

    def pause(self, paused: bool) -> str:
        """Pause or resume; return a message."""
        loop = self._running()
        done(loop.pause(paused))
        return f"{'paused' if paused else 'running'} at t = {loop.latest.t:.6g} s"

    def step(self, count: int | None = None) -> str:
        """Take steps while paused, by default `step_count`; return a message."""
        loop, count = self._running(), count or self._settings.value.step_count
        left, batch = count, _BATCH - _BATCH % loop.every or _BATCH  # whole periods of joint_states
        while left > batch:  # the timeout applies to one batch, and the node may end between two
            done(loop.step(batch))
            left -= batch
        snapshot = done(loop.step(left))
        return f"{count} step{'s' if count > 1 else ''} taken, t = {snapshot.t:.9g} s"

    def quit(self) -> None:
        """Pause, and end the node once the response to the request is sent."""
        self.pause(True)
        self.is_quitting = True
        self._timer = self.create_timer(_LAST_WORDS, self._quit, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _quit(self) -> None:
        self._timer.cancel()
        self.close()  # before the shutdown, because its threads publish
        self.context.try_shutdown()

    # --- parameters ---------------------------------------------------------------------------------------------
    def _change(self, old: DynamicsSettings, new: DynamicsSettings) -> None:
        model, loop = self._model, self.loop
        if model is None:
            return
        if (old.initial_positions, old.initial_velocities) != (new.initial_positions, new.initial_velocities):
            initial_state(model, new)  # refuse a state that ~/reset could not use
        if new.wrenches != old.wrenches:
            self._loads.choose(new.wrenches)
        if loop is None:
            return
        loop.set_real_time_factor(new.real_time_factor)
        self._in.change(new)
        loop.post(lambda: loop.plant.set_rules(idle=new.idle, timeout=new.command_timeout))

    def close(self) -> None:
        """End the physics."""
        self._ending.set()
        if self.loop is not None:
            self.loop.stop()
            self._loads.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until it ends."""
    return run_node(DynamicsNode, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
