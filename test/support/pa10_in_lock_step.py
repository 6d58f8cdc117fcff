# SPDX-License-Identifier: Apache-2.0
"""A PA-10's driver and its emulator in lock step: every byte of the protocol, no port, no real time."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from device_world import DeviceWorld

from ada_robot.contract import Demand, Mode
from ada_robot.driver import Array, Feedback

if TYPE_CHECKING:
    from ada_controllers.controller import Controller
    from ada_controllers.state import Reference

_MODES = {"position": Mode.POSITION, "velocity": Mode.VELOCITY, "effort": Mode.EFFORT}


class LockStep(DeviceWorld):
    """Driver, wire and emulator on one clock, which moves on with the driver's cycles alone."""

    def __init__(self, **options: Any) -> None:
        super().__init__("pa10", **options)
        self.driver.open()
        self._due = self.clock.now()
        self.feedback = self.idle()

    def idle(self, cycles: int = 1) -> Feedback:
        """So many cycles in which nothing moves; at least one."""
        for _ in range(cycles):
            self.feedback = self.driver.idle()
            self._wait()
        return self.feedback

    def start(self) -> None:
        self.driver.start()
        self._due = self.clock.now()
        self.feedback = self.driver.cycle(Demand(Mode.VELOCITY, np.zeros(len(self.driver.joints))))
        self._wait()

    def cycle(self, mode: Mode, values: Array, cycles: int = 1) -> Feedback:
        for _ in range(cycles):
            self.feedback = self.driver.cycle(Demand(mode, np.asarray(values, dtype=np.float64)))
            self._wait()
        return self.feedback

    def follow(
        self,
        controller: Controller[Any],
        reference: Reference | Callable[[float], Reference | None] | None,
        duration: float,
        sensor: Callable[[LockStep], Array] | None = None,
    ) -> SimpleNamespace:
        """A motion by a controller; a row for each cycle."""
        from ada_controllers.state import State

        mode, period = _MODES[controller.KIND], self.driver.period
        rows: dict[str, list[Array]] = {name: [] for name in ("q", "v", "effort", "true_q")}
        signals: list[dict[str, Array]] = []
        missed = self.driver.counts.missed
        times = [k * period for k in range(round(duration / period))]
        for t in times:
            told = self.feedback
            state = State(told.position, told.velocity, None if sensor is None else sensor(self))
            if not signals:
                controller.reset(state, t)
            command = controller.update(state, reference(t) if callable(reference) else reference, t)
            values = getattr(command, controller.KIND)
            parts = {name: part for name, part in command._asdict().items() if part is not None}
            signals.append({name: np.array(part) for name, part in {**controller.signals(), **parts}.items()})
            self.cycle(mode, values)
            now = (told.position, told.velocity, told.effort, self.device.arm.q.copy())
            for name, row in zip(rows, now, strict=True):
                rows[name].append(row)
        by_name = {name: np.array([row[name] for row in signals]) for name in signals[0]}
        arrays = {name: np.array(row) for name, row in rows.items()}
        return SimpleNamespace(t=np.array(times), **arrays, signals=by_name, missed=self.driver.counts.missed - missed)

    def _wait(self) -> None:
        self._due = max(self._due + self.driver.period, self.clock.now())
        self.clock.sleep(self._due - self.clock.now())
