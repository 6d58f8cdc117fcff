# SPDX-License-Identifier: Apache-2.0
"""A controller that says what it is told to say, for tests of what all controllers share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_controllers import Command, Controller, JointPath, JointReference, PoseReference, State
from ada_dynamics.model.elements import Limits
from ada_robot.settings import setting

INF = math.inf


def arm(base: str = "fixed", **limits: float) -> ada.Model:
    """Two links; ranges ±2 rad, 3 rad/s and 10 N m where nothing else is said."""
    bounds = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "effort": 10.0, **limits}
    builder = ada.Builder("arm").link("base", 1.0, inertia=(1.0, 1.0, 1.0))
    for name, parent in (("upper", "base"), ("lower", "upper")):
        builder.link(name, 1.0, (0.0, 0.0, 0.5), (0.1, 0.1, 0.1))
        builder.joint(f"j_{name}", "revolute", parent, name, (0.0, 0.0, 1.0), axis=(0, 1, 0), limits=Limits(**bounds))
    return builder.build(base=base)


@dataclass(frozen=True)
class EchoSettings:
    gain: float = setting(1.0, "nothing", lower=0.0)


class Echo(Controller[EchoSettings]):
    """Says what it is told to say."""

    NAME, SUMMARY, KIND = "echo", "says what it is told", "effort"
    REFERENCES = (JointReference, JointPath, PoseReference)
    SETTINGS = EchoSettings
    said = Command()

    def _law(self, state: State, time: float) -> Command:
        return self.said


class EchoPosition(Echo):
    KIND = "position"


class EchoVelocity(Echo):
    KIND = "velocity"


def echo(cls: type[Echo] = Echo, q: Any = (0.0, 0.0), v: Any = (0.0, 0.0), **shaping: float) -> Echo:
    controller = cls(arm(), shaping=shaping)
    controller.reset(State(np.array(q), np.array(v)), 0.0)
    return controller


def say(controller: Echo, time: float, q: Any = (0.0, 0.0), v: Any = (0.0, 0.0), **parts: Any) -> Command:
    controller.said = Command(**{name: np.array(values, dtype=float) for name, values in parts.items()})
    return controller.update(State(np.array(q), np.array(v)), None, time)
