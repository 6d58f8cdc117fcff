# SPDX-License-Identifier: Apache-2.0
"""The arm that hangs on the controller: brakes, speed servos with a lag, motors that push, gravity that pulls."""

from __future__ import annotations

import math

import numpy as np

G = 9.81  # [m/s^2]
LIMITS = np.radians([177.0, 94.0, 174.0, 137.0, 255.0, 165.0, 255.0])
SPEEDS = np.array([1.0, 1.0, 2.0, 2.0, 2.0, 2.0 * math.pi, 2.0 * math.pi])  # [rad/s]
TORQUES = 50.0 * np.array([4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29])  # [N m]
# bodies behind each axis: mass [kg], height of the centre over its joint [m]; joints' heights over the one before [m]
MASSES = np.array([9.78, 8.41, 3.52, 4.31, 3.45, 1.46, 0.24])
CENTRES = np.array([0.0, 0.062, 0.077, 0.045, 0.084, -0.0315, -0.0305])
ABOVE = {
    "ce": np.array([0.200, 0.117, 0.317, 0.133, 0.285, 0.195, 0.070]),
    "7c": np.array([0.200, 0.115, 0.280, 0.170, 0.250, 0.250, 0.080]),
}
ROTORS = np.array([0.75, 0.75, 0.2125, 0.2125, 0.00575, 0.00575, 0.00575])  # reflected [kg m^2]
LAG = 0.005  # [s] of the speed servos
BRAKE = 60.0  # [rad/s^2] that a closed brake takes off
END_STOP = math.radians(3.0)  # beyond the limits something is in the way
FINEST = 0.001  # [s] step where torques drive


def gravity(layout: str, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Torques that hold the arm, and the inertia that each axis feels with all others locked."""
    turn, at = np.eye(3), np.zeros(3)
    axes, places, centres = [], [], []
    for axis, angle in enumerate(q):
        at = at + turn @ np.array([0.0, 0.0, ABOVE[layout][axis]])
        c, s = math.cos(angle), math.sin(angle)
        if axis % 2 == 0:
            line, about = turn[:, 2], np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        else:
            line, about = turn[:, 1], np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        turn = turn @ about
        axes.append(line)
        places.append(at)
        centres.append(at + turn @ np.array([0.0, 0.0, CENTRES[axis]]))
    arms = np.array(centres)[None, :, :] - np.array(places)[:, None, :]
    sweeps = np.cross(np.array(axes)[:, None, :], arms)  # how each centre moves with each axis
    behind = np.triu(np.ones((len(q), len(q))))
    hold = (sweeps[:, :, 2] * behind * MASSES[None, :]).sum(axis=1) * G
    inertia = ((sweeps**2).sum(axis=2) * behind * MASSES[None, :]).sum(axis=1) + ROTORS + 0.02
    return hold, inertia


class Body:
    """Seven axes."""

    def __init__(self, layout: str, start: np.ndarray) -> None:
        self._layout = layout
        self.q, self.v = start.astype(float).copy(), np.zeros(7)
        self.is_held = np.zeros(7, dtype=bool)

    def go_on(self, seconds: float, braked: np.ndarray, in_torque: np.ndarray, wanted: np.ndarray) -> None:
        left = seconds
        finest = FINEST if in_torque.any() else 0.02
        while left > 1e-9:
            step = min(left, finest)
            left -= step
            self._go_on(step, braked, in_torque, wanted)

    def _go_on(self, step: float, braked: np.ndarray, in_torque: np.ndarray, wanted: np.ndarray) -> None:
        before = self.v
        share = math.exp(-step / LAG)
        by_speed = wanted + (before - wanted) * share
        moved_by_speed = wanted * step + (before - wanted) * LAG * (1.0 - share)
        slower = np.sign(before) * np.maximum(np.abs(before) - BRAKE * step, 0.0)
        v = np.where(braked, slower, by_speed)
        moved = np.where(braked, 0.5 * (before + slower) * step, moved_by_speed)
        if in_torque.any():
            hold, inertia = gravity(self._layout, self.q)
            pushed = before + (wanted - hold) / inertia * step
            v = np.where(in_torque & ~braked, pushed, v)
            moved = np.where(in_torque & ~braked, pushed * step, moved)
        v, moved = np.where(self.is_held, 0.0, v), np.where(self.is_held, 0.0, moved)
        q = self.q + moved
        at_end = np.abs(q) > LIMITS + END_STOP
        self.q = np.clip(q, -LIMITS - END_STOP, LIMITS + END_STOP)
        self.v = np.where(at_end, 0.0, v)
