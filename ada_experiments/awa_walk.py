# SPDX-License-Identifier: Apache-2.0
"""KHR-1's walking motion over time, from its key frames: smooth, or at constant speed from frame to frame."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_experiments.awa_kinematics import Samples
from ada_experiments.awa_motors import angle_columns
from ada_robot.trajectory.splines import QuinticSpline


class Walk:
    """Angles of all turning joints of a model over time.

    Attributes:
        times: of the key frames [s].
        frames: their angles, a column per turning joint of the model [rad].
    """

    def __init__(self, model: Model, times: ArrayLike, angles: Mapping[str, ArrayLike]) -> None:
        """Put the angles of a motion into the model's order; joints that it does not name stay at zero.

        Args:
            model: of the robot.
            times: of the key frames [s].
            angles: by joint, one per key frame [rad].

        Raises:
            InputError: the motion names a joint that the model has not, or there are fewer than two frames.
        """
        columns = angle_columns(model)
        self.times = np.array(times, dtype=np.float64)
        if len(self.times) < 2:
            raise InputError(f"the motion has {len(self.times)} key frames; it needs two or more.", field="times")
        self.frames = np.zeros((len(self.times), len(columns)))
        for joint, values in angles.items():
            if joint not in columns:
                raise unknown_name("joint of the motion", joint, columns)
            self.frames[:, columns[joint]] = values

    @property
    def duration(self) -> float:
        """Of the motion [s]."""
        return float(self.times[-1] - self.times[0])

    @cached_property
    def _spline(self) -> QuinticSpline:
        rest = np.zeros_like(self.frames)
        return QuinticSpline.through_states(self.times, self.frames, rest, rest)

    def smooth(self, t: ArrayLike) -> Samples:
        """Angles and their exact rates, from rest to rest between each two key frames."""
        return Samples(*self._spline(np.asarray(t, dtype=np.float64) + self.times[0]))

    def linear(self, t: ArrayLike) -> Array:
        """Angles of servos that turn at constant speed from frame to frame, as the RCB-1 makes them."""
        at = np.asarray(t, dtype=np.float64) + self.times[0]
        return np.column_stack([np.interp(at, self.times, column) for column in self.frames.T])


def khr1_walk(model: Model) -> Walk:
    """The walk that comes with the library, of its own making, from the key frames in config/khr1_walk.csv."""
    from ada_dynamics import resources
    from ada_hardware.kondo.motion_file import read_motion

    times, angles = read_motion(
        resources.find("config", "khr1_walk.csv"), resources.find("config", "khr1_angle_map.yaml")
    )
    return Walk(model, times, angles)
