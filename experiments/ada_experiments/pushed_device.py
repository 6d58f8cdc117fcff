# SPDX-License-Identifier: Apache-2.0
"""T6.8: balance control of Takahashi 2012, ch. 6, through the hardware interface, as on a real robot (sec. 8.2).

The communication protocol of HOAP-2 is not published, so the device is simulated, with feet that can lift, rotors,
motor limits and friction. The controller accesses it like a real robot: feedback of the joints only, checked and
shaped demands, and the safety cycle with its phases, in lock step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ada_controllers import make
from ada_controllers.state import State
from ada_dynamics.clock import ManualClock
from ada_experiments.pictures import picture
from ada_experiments.push_sweep import (
    POINTS,
    RATIOS,
    SIDES,
    STRATEGIES,
    Map,
    PushSettings,
    Survives,
    angles_of,
    at_the_points,
    largest_survived,
    map_of,
    order_of,
    swept,
    table_of,
    tried,
)
from ada_experiments.pushed_humanoid import AT_THE_SHOULDER, FALLEN, FREE, STANDING, robot
from ada_experiments.settings import read_settings
from ada_robot.contract import Demand, Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import checked
from ada_robot.simulated.driver import SimulatedDriver
from ada_robot.simulated.settings import SimulatedSettings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

LABELS = ("stands", "falls")
_SETTLED = 0.2  # [s] of control before a push
_LOOKED_AT = 20  # cycles between two fall checks


class PushResult(NamedTuple):
    """Result of a push."""

    drop: float  # of the centre of mass [m]
    stands: bool
    refused: int  # number of refused demands


class SimulatedDevice:
    """Simulated robot behind the hardware interface, with one strategy that commands joint torques."""

    def __init__(self, strategy: str, friction: float, full_angle: float, chosen: PushSettings) -> None:
        """Open the device and let it come to rest under its servos."""
        self.clock, self._horizon, self._duration = ManualClock(), chosen.horizon, chosen.duration
        given = {"robot": FREE, "joint_friction": friction, "cycle_rate": chosen.rate, "physics_rate": chosen.rate}
        self.driver = SimulatedDriver(checked(SimulatedSettings, given), clock=self.clock)
        self.controller: Any = make("balance", robot(STANDING), {"strategy": strategy, "full_angle": full_angle})
        names = list(self.driver.joints)
        self._commanded = [names.index(name) for name in self.controller.joints]
        model = self.controller.model
        self._measured = [names.index(name) for name in model.joint_names if model.joints[name].nv]
        self.driver.open()
        assert self.driver.plant is not None
        self._rest = self.driver.plant.simulation.q.copy()

    def pushed(self, link: str, impulse: float) -> PushResult:
        """Push the robot at rest, with a new safety cycle; impulse along x [N s]."""
        plant = self.driver.plant
        assert plant is not None
        self.driver.stop()
        plant.reset(self._rest)
        cycle = SafeCycle(self.driver, SafetySettings(tool_speed=0.0), clock=self.clock)
        cycle.open(self.clock.now())
        self._step(cycle)
        cycle.activate(self.clock.now())
        begin, simulation = self.clock.now(), plant.simulation
        self.controller.reset(self._state(cycle), 0.0)
        while self.clock.now() - begin < _SETTLED:
            self._control(cycle, self.clock.now() - begin)
        simulation.push(link, [impulse / self._duration, 0.0, 0.0, 0.0, 0.0, 0.0], self._duration)
        heights = []
        for count in range(round(self._horizon / self.driver.period)):
            self._control(cycle, self.clock.now() - begin)
            if count % _LOOKED_AT == 0:
                heights.append(float(plant.dynamics.com(simulation.q)[2]))
                if heights[-1] < heights[0] - FALLEN or cycle.phase is not Phase.ACTIVE:
                    break
        stands = heights[-1] >= heights[0] - FALLEN and cycle.phase is Phase.ACTIVE
        return PushResult(heights[0] - min(heights), stands, sum(cycle.check.refused.values()))

    def stands(self, link: str, impulse: float) -> bool:
        """True if the robot stands after a push."""
        return self.pushed(link, impulse).stands

    def _state(self, cycle: SafeCycle) -> State:
        feedback = cycle.feedback
        return State(feedback.position[self._measured], feedback.velocity[self._measured])

    def _control(self, cycle: SafeCycle, t: float) -> None:
        efforts = np.zeros(len(self.driver.joints))
        efforts[self._commanded] = self.controller.update(self._state(cycle), None, t).effort
        self._step(cycle, [Demand(Mode.EFFORT, efforts, self.clock.now() + self.driver.period)])

    def _step(self, cycle: SafeCycle, demands: Sequence[Demand] = ()) -> None:
        self.clock.advance(self.driver.period)
        cycle.step(self.clock.now(), demands)


@experiment("pushed_device")
def pushed_device(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Push the device for each strategy, side and point, then with different friction."""
    chosen = read_settings(scenario, PushSettings)
    angles = angles_of(chosen.full_angles)
    found, shown = all_pushes(chosen, lambda share, text: progress(0.5 * share, text))
    maps: dict[str, Map] = {}
    for i, (label, angle) in enumerate(angles.items()):
        progress(0.5 + 0.5 * i / len(angles), label)
        for number, friction in enumerate(chosen.friction):
            key = label + (f" and {friction:g} N m" if number else "")
            test_of = partial(_test_of, friction=friction, full_angle=angle, chosen=chosen)
            maps[key] = at_the_points(test_of, chosen) if i or number else found
    quantities = {name: swept({key: order_of(one)[name] for key, one in maps.items()}) for name in RATIOS}
    combined = {key: largest_survived(one["combined", "from behind", POINTS[0]]) for key, one in maps.items()}
    least = {label: min(combined[key] for key in maps if key.startswith(label)) for label in angles}
    quantities["borne_at_the_shoulder"] = swept(least, "N s")
    push, own = (AT_THE_SHOULDER.link, AT_THE_SHOULDER.impulse), next(iter(angles.values()))
    rough, smooth = (_test_of("springs", friction, own, chosen)(*push) for friction in chosen.friction[:2])
    quantities |= {
        "drop": Quantity(shown["combined"].drop, "m"),
        "refused": Quantity(sum(one.refused for one in shown.values())),
        "springs_with_friction_only": Quantity(float(rough) - float(smooth)),
    }
    panels = map_of(found, chosen.points, LABELS)
    figures = [picture(panels, output / "t6_8_map.png", "Survived and failed pushes through the hardware interface", 2)]
    table = table_of(found, chosen, "Largest survived impulse through the hardware interface [N s]")
    return Outcome([], figures, [table], quantities=quantities)


def _test_of(strategy: str, friction: float, full_angle: float, chosen: PushSettings) -> Survives:
    return SimulatedDevice(strategy, friction, full_angle, chosen).stands


def all_pushes(chosen: PushSettings, progress: Progress) -> tuple[Map, dict[str, PushResult]]:
    """Return all tested impulses, and the push of T6.2 with each strategy."""
    found: Map = {}
    shown = {}
    pushes = [(side, point) for side in SIDES for point in chosen.points]
    pushes = [(side, point) for side, point in pushes if not chosen.cases or f"{point} {side}" in chosen.cases]
    full_angle = next(iter(angles_of(chosen.full_angles).values()))
    for strategy, text in STRATEGIES.items():
        device = SimulatedDevice(strategy, chosen.friction[0], full_angle, chosen)
        shown[strategy] = device.pushed(AT_THE_SHOULDER.link, AT_THE_SHOULDER.impulse)
        for side, point in pushes:
            progress(len(found) / (len(STRATEGIES) * len(pushes)), f"{text}, {point.replace('_', ' ')}, {side}")
            found[strategy, side, point] = tried(device.stands, point, side, chosen)
    return found, shown
