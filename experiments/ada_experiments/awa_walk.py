# SPDX-License-Identifier: Apache-2.0
"""Walking motion of KHR-1 from its key frames: smooth, or with constant speed between key frames."""

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
    """Angles of all revolute joints of a model over time.

    Attributes:
        times: times of the key frames [s].
        frames: angles, a column per revolute joint of the model [rad].
    """

    def __init__(self, model: Model, times: ArrayLike, angles: Mapping[str, ArrayLike]) -> None:
        """Arrange the angles of a motion in model order; joints without angles remain at zero.

        Args:
            model: robot model.
            times: times of the key frames [s].
            angles: by joint, one angle per key frame [rad].

        Raises:
            InputError: unknown joint, or fewer than two key frames.
        """
        columns = angle_columns(model)
        self.times = np.array(times, dtype=np.float64)
        if len(self.times) < 2:
            raise InputError(f"the motion has {len(self.times)} key frames; it requires at least two.", field="times")
        self.frames = np.zeros((len(self.times), len(columns)))
        for joint, values in angles.items():
            if joint not in columns:
                raise unknown_name("joint of the motion", joint, columns)
            self.frames[:, columns[joint]] = values

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return float(self.times[-1] - self.times[0])

    @cached_property
    def _spline(self) -> QuinticSpline:
        rest = np.zeros_like(self.frames)
        return QuinticSpline.through_states(self.times, self.frames, rest, rest)

    def smooth(self, t: ArrayLike) -> Samples:
        """Angles and their exact rates, at rest at each key frame."""
        return Samples(*self._spline(np.asarray(t, dtype=np.float64) + self.times[0]))

    def linear(self, t: ArrayLike) -> Array:
        """Angles of servos with constant speed between key frames, as with the RCB-1."""
        at = np.asarray(t, dtype=np.float64) + self.times[0]
        return np.column_stack([np.interp(at, self.times, column) for column in self.frames.T])


def khr1_walk(model: Model) -> Walk:
    """Walk of this package, from the key frames in config/khr1_walk.csv."""
    from ada_dynamics import resources
    from ada_hardware.kondo.motion_file import read_motion

    times, angles = read_motion(
        resources.find("config", "khr1_walk.csv"), resources.find("config", "khr1_angle_map.yaml")
    )
    return Walk(model, times, angles)
