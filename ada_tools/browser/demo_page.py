# SPDX-License-Identifier: Apache-2.0
"""`ada demo`: a page with a list of simulated robots of the catalogue, which move and can be pushed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.clock import Clock
from ada_dynamics.model.model import Model
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.scene import scene_for, start_pose
from ada_dynamics.simulation.servos import JointServos
from ada_hardware.kondo.motion_file import read_motion
from ada_robot.trajectory.path import Path
from ada_tools.browser.live import LocalRobot
from ada_tools.browser.page import Page, serve
from ada_tools.browser.robot_page import RobotPage

Targets: TypeAlias = Callable[[float], Mapping[str, float]]
"""Motor positions [rad, m] at a time [s]; motors that are not named keep their initial position."""

_REST = 0.5  # [s] pause between two walks


class DemoEntry(NamedTuple):
    """One robot of the demo."""

    robot: str  # name in the catalogue
    words: str  # text shown in the selection list
    motion: Callable[[Model, Array], Targets]  # creates the motor targets from the model and the initial configuration

    def prepared(self) -> tuple[Simulation, Targets]:
        """Simulation of the robot, with pushes enabled, and its servo targets."""
        model = load(self.robot)
        start = start_pose(model, start_of(self.robot, model))
        targets = self.motion(model, start)
        for joint, position in targets(0.0).items():
            start[model.q_index(joint)] = position
        scene = scene_for(model, start, is_given=False)
        simulation = Simulation(
            model,
            scene.q,
            integrator=scene.integrator,
            contact=scene.contact,
            stops=scene.stops,
            pushable=True,
            servos=JointServos(),
        )
        return simulation, targets


def _circling(size: float, pace: float) -> Callable[[Model, Array], Targets]:
    """Swing all motors with a phase shift, so that a platform on them moves in a circle."""

    def motion(model: Model, start: Array) -> Targets:
        motors = model.actuated
        phases = 2.0 * np.pi * np.arange(len(motors)) / len(motors)
        middles = [float(start[model.q_index(name)][0]) for name in motors]

        def targets(t: float) -> Mapping[str, float]:
            swing = size * (np.sin(pace * t + phases) - np.sin(phases))
            return dict(zip(motors, (middles + swing).tolist(), strict=True))

        return targets

    return motion


def _swaying(**sizes: tuple[float, float]) -> Callable[[Model, Array], Targets]:
    """Move each joint from its start through a stroke [rad, m] and back, at a pace [rad/s]."""

    def motion(model: Model, start: Array) -> Targets:
        begin = {name: float(start[model.q_index(name)][0]) for name in sizes}
        return lambda t: {
            name: begin[name] + 0.5 * stroke * (1.0 - float(np.cos(pace * t))) for name, (stroke, pace) in sizes.items()
        }

    return motion


def _walking(model: Model, start: Array) -> Targets:
    """Repeat the recorded walk of the KHR-1."""
    files = [resources.find("config", name) for name in ("khr1_walk.csv", "khr1_angle_map.yaml")]
    times, angles = read_motion(*files)
    frames = np.column_stack(list(angles.values()))
    rest = np.zeros_like(frames)
    path = Path.through(0.0, np.asarray(times), frames, rest, rest)

    def targets(t: float) -> Mapping[str, float]:
        at = min(max(t % (times[-1] + _REST) - _REST, 0.0), float(times[-1]))
        return dict(zip(angles, path.state(at).position, strict=True))

    return targets


# Squat with the centre of mass above the feet, and raise the arms: strokes of the left and the right joint [rad].
_SQUAT = {"hip_pitch": (-0.6, -0.6), "knee": (1.2, 1.2), "ankle_pitch": (-0.6, -0.6), "shoulder_roll": (0.6, -0.6)}
_SIDES = ("left", "right")

DEMOS = {
    one.robot: one
    for one in (
        DemoEntry("stewart", "Stewart platform: six legs carry one plate", _circling(0.06, 1.5)),
        DemoEntry(
            "pa10",
            "arm PA-10: seven joints",
            _swaying(s1=(0.9, 0.5), s2=(0.35, 0.8), s3=(0.5, 0.6), e1=(0.6, 0.9), w1=(0.8, 1.1)),
        ),
        DemoEntry(
            "hoap2",
            "humanoid HOAP-2: squats on the ground",
            _swaying(
                **{
                    f"{side}_{joint}": (strokes[i], 1.2)
                    for joint, strokes in _SQUAT.items()
                    for i, side in enumerate(_SIDES)
                }
            ),
        ),
        DemoEntry("five_bar", "five-bar linkage: two cranks, one tip", _circling(0.5, 1.5)),
        DemoEntry("khr1", "small humanoid KHR-1: walks", _walking),
        DemoEntry(
            "excavator_arm",
            "excavator: three hydraulic cylinders",
            _swaying(boom_cylinder=(0.5, 0.7), stick_cylinder=(0.6, 1.1), bucket_cylinder=(0.25, 1.7)),
        ),
        DemoEntry("robotiq_gripper", "adaptive gripper: opens and closes", _swaying(left_outer_knuckle=(0.7, 1.5))),
        DemoEntry("jansen_leg", "leg of a Strandbeest: one crank", _swaying(crank=(20.0, 0.15))),
        DemoEntry(
            "palletiser",
            "palletiser: its tool stays level",
            _swaying(turret=(1.2, 0.7), lower_arm=(0.7, 1.1), crank=(0.5, 1.3)),
        ),
        DemoEntry("scissor_lift", "scissor lift: one linear drive", _swaying(drive=(-0.4, 1.0))),
    )
}


class ServoRobot(LocalRobot):
    """Simulation whose servos follow a motion."""

    period = 0.01  # [s] interval between servo targets

    def __init__(self, simulation: Simulation, targets: Targets, say: Callable[[str], None], clock: Clock) -> None:
        """Let the servos of a simulation follow targets over time; `say` displays a message."""
        super().__init__(simulation, say, clock)
        self._targets, self._servos = targets, simulation.servos
        self._held = simulation.q[self._servos.q_index]
        self._rows = self._servos.rows(targets(0.0))

    def prepare(self, t: float) -> None:
        """Update the servo targets."""
        before, after = (np.array(list(self._targets(at).values())) for at in (t, t + self.period))
        positions, velocities = self._held.copy(), np.zeros_like(self._held)
        positions[self._rows], velocities[self._rows] = before, (after - before) / self.period
        self._servos.hold(positions, velocities)


class DemoPage:
    """Page with a list of robots and the selected one.

    Attributes:
        robot: page of the selected robot.
        chosen: name of the selected robot.
    """

    def __init__(self, page: Page, first: str) -> None:
        """Show the first robot."""
        self.page, self.chosen = page, first
        self.robot = self._shown()

    def _shown(self) -> RobotPage:
        words = {one.words: name for name, one in DEMOS.items()}
        self.choice: Any = self.page.gui.add_dropdown(
            "robot", tuple(words), initial_value=DEMOS[self.chosen].words, hint="Drag a link to push the robot."
        )
        self.page.when(self.choice, lambda: self.choose(words[str(self.choice.value)]))
        simulation, targets = DEMOS[self.chosen].prepared()
        source = ServoRobot(simulation, targets, self.page.say, self.page.clock)
        ground = None if simulation.contact is None else 0.0
        robot = RobotPage(self.page, source, source.dynamics, ground=ground)
        robot.toggle()
        return robot

    def choose(self, name: str) -> None:
        """Show another robot."""
        if name == self.chosen:
            return
        self.robot.close()
        self.chosen = name
        self.robot = self._shown()
        self.page.look()

    def tick(self) -> None:
        """Per-frame update."""
        self.robot.tick()


def show(first: str, **options: Any) -> None:
    """Show the demo, beginning with a robot. Options as `page.serve`.

    Raises:
        InputError: as `page.serve`.
    """
    serve("ada demo", lambda page: DemoPage(page, first), **options)
