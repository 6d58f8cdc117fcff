# SPDX-License-Identifier: Apache-2.0
"""T6.8: balance control of Takahashi 2012, ch. 6, through the hardware interface, as on a real robot (sec. 8.2).

The communication protocol of HOAP-2 is not published, so the device is simulated, with feet that can lift, rotors,
motor limits and friction. The controller accesses it like a real robot: feedback of the joints only, checked and
shaped demands, and the safety cycle with its phases, in lock step.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ada_controllers import make
from ada_controllers.state import State
from ada_dynamics.arrays import Array
from ada_dynamics.clock import ManualClock
from ada_experiments.pictures import picture
from ada_experiments.push_sweep import (
    KNOWN,
    POINTS,
    RATIOS,
    SIDES,
    STRATEGIES,
    Map,
    PushSettings,
    Tried,
    largest_survived,
    map_of,
    order_of,
    search,
    sweep_of,
    swept,
    table_of,
)
from ada_experiments.pushed_humanoid import AT_THE_SHOULDER, FALLEN, FREE, STANDING, robot
from ada_robot.contract import Demand, Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import checked
from ada_robot.simulated.driver import SimulatedDriver
from ada_robot.simulated.settings import SimulatedSettings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

_KNOWN = (*KNOWN, "cases", "friction", "rate")
LABELS = ("stands", "falls")
_TITLE = "Largest survived impulse through the hardware interface [N s]"
_SETTLED = 0.2  # [s] of control before a push
_LOOKED_AT = 20  # cycles between two fall checks


class DevicePushSettings(NamedTuple):
    """Settings of the scenario."""

    sweep: PushSettings  # tested pushes
    friction: tuple[float, ...]  # of each joint [N m]; the first is used for all points
    rate: float  # of the safety cycle and of the physics [Hz]
    cases: tuple[str, ...]  # "POINT SIDE" to test; all points from both sides if empty


class PushResult(NamedTuple):
    """Result of a push."""

    t: Array  # [s], from the start of the push
    height: Array  # of the centre of mass [m]
    stands: bool
    refused: int  # number of refused demands
    reason: str  # final phase of the cycle and its reason


class SimulatedDevice:
    """Simulated robot behind the hardware interface, with one strategy that commands joint torques."""

    def __init__(self, strategy: str, friction: float, chosen: DevicePushSettings) -> None:
        """Open the device and let it come to rest under its servos."""
        self.clock, self._horizon, self._duration = ManualClock(), chosen.sweep.horizon, chosen.sweep.duration
        given = {"robot": FREE, "joint_friction": friction, "cycle_rate": chosen.rate, "physics_rate": chosen.rate}
        self.driver = SimulatedDriver(checked(SimulatedSettings, given), clock=self.clock)
        self.controller: Any = make(
            "balance", robot(STANDING), {"strategy": strategy, "full_angle": chosen.sweep.full_angle}
        )
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
        start, rows = self.clock.now(), []
        for count in range(round(self._horizon / self.driver.period)):
            self._control(cycle, self.clock.now() - begin)
            if count % _LOOKED_AT == 0:
                rows.append((self.clock.now() - start, float(plant.dynamics.com(simulation.q)[2])))
                if rows[-1][1] < rows[0][1] - FALLEN or cycle.phase is not Phase.ACTIVE:
                    break
        t, height = np.array(rows).T
        stands = bool(height[-1] >= height[0] - FALLEN and cycle.phase is Phase.ACTIVE)
        return PushResult(t, height, stands, sum(cycle.check.refused.values()), f"{cycle.phase.value}: {cycle.reason}")

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
    chosen = read_settings(scenario)
    found, shown = all_pushes(chosen, lambda share, text: progress(0.5 * share, text))
    maps: dict[str, Map] = {}
    for i, (label, angle) in enumerate(chosen.sweep.full_angles.items()):
        progress(0.5 + 0.5 * i / len(chosen.sweep.full_angles), label)
        varied = chosen._replace(sweep=chosen.sweep._replace(full_angle=angle))
        for number, friction in enumerate(chosen.friction):
            is_known = angle == chosen.sweep.full_angle and not number
            key = label + (f" and {friction:g} N m" if number else "")
            maps[key] = found if is_known else _at_the_points(friction, varied)
    quantities = {name: swept({key: order_of(one)[name] for key, one in maps.items()}) for name in RATIOS}
    combined = {key: largest_survived(one["combined", "from behind", POINTS[0]]) for key, one in maps.items()}
    least = {label: min(combined[key] for key in maps if key.startswith(label)) for label in chosen.sweep.full_angles}
    quantities["borne_at_the_shoulder"] = swept(least, "N s")
    panels = map_of(found, chosen.sweep.points, LABELS)
    figures = [picture(panels, output / "t6_8_map.png", "Survived and failed pushes through the hardware interface", 2)]
    tables = [table_of(found, chosen.sweep.points, _TITLE, chosen.sweep.resolution)]
    rough, smooth = (_by_springs(friction, chosen) for friction in chosen.friction[:2])
    quantities |= {
        "drop": Quantity(float(shown["combined"].height[0] - shown["combined"].height.min()), "m"),
        "refused": Quantity(sum(one.refused for one in shown.values())),
        "springs_with_friction_only": Quantity(float(rough) - float(smooth)),
    }
    return Outcome([], figures, tables, quantities=quantities)


def all_pushes(chosen: DevicePushSettings, progress: Progress) -> tuple[Map, dict[str, PushResult]]:
    """Return all tested impulses, and the push of T6.2 with each strategy."""
    found: Map = {}
    shown = {}
    pushes = [(side, point) for side in SIDES for point in chosen.sweep.points]
    pushes = [(side, point) for side, point in pushes if not chosen.cases or f"{point} {side}" in chosen.cases]
    count = len(STRATEGIES) * len(pushes)
    for strategy, text in STRATEGIES.items():
        device = SimulatedDevice(strategy, chosen.friction[0], chosen)
        shown[strategy] = device.pushed(AT_THE_SHOULDER.link, AT_THE_SHOULDER.impulse)
        for side, point in pushes:
            progress(len(found) / count, f"{text}, {point.replace('_', ' ')}, {side}")
            found[strategy, side, point] = _tried(device, point, SIDES[side], chosen)
    return found, shown


def _by_springs(friction: float, chosen: DevicePushSettings) -> bool:
    """True if springs alone survive the push of T6.2."""
    return SimulatedDevice("springs", friction, chosen).pushed(AT_THE_SHOULDER.link, AT_THE_SHOULDER.impulse).stands


def read_settings(scenario: Scenario) -> DevicePushSettings:
    """Read the settings of a scenario, with units."""
    part = settings_of(scenario, _KNOWN)
    friction = part.vector("friction", ("N m",) * len(part.items("friction")))
    rate = part.positive("rate", "1/s")
    return DevicePushSettings(sweep_of(part), tuple(friction), rate, part.texts("cases"))


def _tried(device: SimulatedDevice, point: str, side: float, chosen: DevicePushSettings) -> Tried:
    return search(
        lambda impulse: device.pushed(point, side * impulse).stands,
        chosen.sweep.largest,
        chosen.sweep.spacing,
        chosen.sweep.resolution,
        whole=False,
    )


def _at_the_points(friction: float, chosen: DevicePushSettings) -> Map:
    """Pushes of the strategies at the document's points."""
    found: Map = {}
    for strategy in list(STRATEGIES)[1:]:
        device = SimulatedDevice(strategy, friction, chosen)
        for (side, sign), point in zip(SIDES.items(), POINTS, strict=True):
            found[strategy, side, point] = _tried(device, point, sign, chosen)
    return found
