# SPDX-License-Identifier: Apache-2.0
"""A1: link motions and loads of the walking KHR-1 by the pipeline of Awa 2009 (figs. 10-13).

The pipeline (eqs. 3-46) is implemented from the paper; `Dynamics` computes the same quantities by other recursions in
other axes. The agreement of independent models is the argument of the paper against careless errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ada_dynamics.analysis.balance import support_margins, zmp_of_motion, zmp_of_wrenches
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.simulation import Contact
from ada_experiments.awa_equations import (
    FrameHistory,
    Motor,
    MotorLoad,
    MotorMotion,
    Samples,
    base_states,
    differentiated,
    index_of,
    loads_of,
    motions_of,
    motors_of,
    over_feet,
    paper_robot,
    standing,
)
from ada_experiments.awa_walk import FEET, Walk, khr1_walk
from ada_experiments.pictures import exponent, picture, vector
from ada_experiments.settings import read_settings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

LEG_END = "right_foot"  # motor 23 of table 3, with its tip in the middle of the sole: figs. 12 and 13

# Chains of six 4x4 products with entries of about ten (accelerations): 1e-14 is observed.
ROUNDING = 1e-11


class PipelineSettings(NamedTuple):
    """Settings of the scenario."""

    robot: str  # with the masses of table 4
    periods: Annotated[tuple[float, ...], "s"]  # of the samples for eqs. 44 and 45, descending; the first for all else


class PipelineResult(NamedTuple):
    """Results of the pipeline for one motion of frame 0."""

    motions: list[MotorMotion]
    loads: list[MotorLoad]

    def torques(self, motors: Sequence[Motor]) -> Array:
        """Torques of the revolute joints, (N, n)."""
        return np.array([o.u for m, o in zip(motors, self.loads, strict=True) if m.column is not None]).T


@experiment("awa_pipeline")
def awa_pipeline(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Run the pipeline and check it."""
    chosen = read_settings(scenario, PipelineSettings)
    periods, model = chosen.periods, paper_robot(load(chosen.robot))
    study = Study(model, khr1_walk(model))
    progress(0.0, "the pipeline of Awa 2009 against Dynamics")
    t = np.arange(0.0, study.walk.duration, periods[0])
    samples = study.walk.smooth(t)
    still = study.still(samples)
    quantities = study.agreement(samples, still)
    progress(0.3, "over standing feet")
    quantities |= study.on_ground(samples, *over_feet(study.motors, still.motions, FEET))
    progress(0.6, "numerical differentiation")
    quantities |= study.differences(periods)
    figures = [
        _fig_12(t, still.motions[study.foot], output / "a1_fig_12.png"),
        _fig_13(t, still.loads[study.foot], output / "a1_fig_13.png"),
    ]
    return Outcome([], figures, quantities=quantities)


class Study:
    """The pipeline for one robot and motion, compared with `Dynamics`."""

    def __init__(self, model: Model, walk: Walk) -> None:
        """Prepare a robot with a floating base, and its walk."""
        self.model, self.walk = model, walk
        self.dynamics = Dynamics(model)
        self.motors = motors_of(model)
        self.foot = index_of(self.motors, LEG_END)

    def run(self, samples: Samples, body: FrameHistory) -> PipelineResult:
        """Kinematics outwards, then loads inwards (fig. 10)."""
        motions = motions_of(self.motors, samples, body)
        return PipelineResult(motions, loads_of(self.motors, motions, np.array(self.model.gravity)))

    def still(self, samples: Samples) -> PipelineResult:
        """Results with frame 0 at rest, as in the paper."""
        return self.run(samples, standing(np.eye(4), len(samples.angles)))

    def states(self, samples: Samples, body: FrameHistory) -> tuple[Array, Array, Array]:
        """q, v and a of the model for a motion of frame 0."""
        base = base_states(body)
        return tuple(np.concatenate(pair, axis=1) for pair in zip(base, samples, strict=True))  # type: ignore[return-value]

    def agreement(self, samples: Samples, still: PipelineResult) -> dict[str, Quantity]:
        """Relative differences from `Dynamics` for the case of the paper."""
        q, v, a = self.states(samples, standing(np.eye(4), len(samples.angles)))
        off = []
        for foot in FEET:
            tip = still.motions[index_of(self.motors, foot)].tip
            velocity = np.concatenate([tip.velocity, tip.angular], axis=1)
            acceleration = np.concatenate([tip.acceleration, tip.angular_acceleration], axis=1)
            off += [
                _relative(tip.T, self.dynamics.pose(foot, q)),
                _relative(velocity, self.dynamics.velocity(foot, q, v)),
                _relative(acceleration, self.dynamics.acceleration(foot, q, v, a)),
            ]
        torques = _relative(still.torques(self.motors), self.dynamics.inverse(q, v, a)[:, 6:])
        P, L = (np.sum([getattr(load, name) for load in still.loads], axis=0) for name in "PL")
        own = np.concatenate([P, L - np.cross(self.dynamics.com(q), P)], axis=1)
        momenta = _relative(own, self.dynamics.momentum(q, v))
        return {
            "kinematics_error": Quantity(max(off)),
            "torque_error": Quantity(torques),
            "momentum_error": Quantity(momenta),
            "transpose_off": Quantity(_off_skew(still.motions[self.foot].tip)),
        }

    def on_ground(self, samples: Samples, body: FrameHistory, touching: dict[str, Array]) -> dict[str, Quantity]:
        """Walk over supporting feet: ground wrench, zero-moment point and its margin."""
        ground = self.run(samples, body)
        q, v, a = self.states(samples, body)
        whole = ground.loads[0]
        R, p = body.rotation, body.position
        about_base = whole.moment - np.cross(p, whole.f)
        own = np.concatenate([np.einsum("nji,nj->ni", R, x) for x in (whole.f, about_base)], axis=1)
        wrench = _relative(own, self.dynamics.inverse(q, v, a)[:, :6])
        zmp = zmp_of_wrenches({"ground": np.zeros(3)}, {"ground": np.concatenate([whole.f, whole.moment], axis=1)})
        other = zmp_of_motion(self.dynamics, q, v, a)
        corners, loaded = {}, {}
        for point in Contact.of_soles(self.model, FEET).points:
            foot = ground.motions[index_of(self.motors, point.link)].tip
            corners[point.name] = foot.position + foot.rotation @ np.asarray(point.xyz)
            loaded[point.name] = touching[point.link]
        margin = support_margins(zmp, corners, loaded)
        return {
            "wrench_difference": Quantity(wrench),
            "zmp_difference": Quantity(float(np.abs(zmp - other).max()), "m"),
            "least_margin": Quantity(1e3 * float(margin.min()), "mm"),
        }

    def differences(self, periods: Sequence[float]) -> dict[str, Quantity]:
        """Effect of the rates of eqs. 44 and 45: errors of torques, and peaks of m p̈_g of the end of the leg.

        The walk is smooth, or its servos have constant speed between key frames.
        """
        errors, smooth_peaks, sharp_peaks = [], [], []
        for dt in periods:
            t = np.arange(0.0, self.walk.duration, dt)
            exact = self.still(self.walk.smooth(t[:-2])).torques(self.motors)
            smooth = self.still(differentiated(self.walk.smooth(t).angles, dt))
            errors.append(float(np.sqrt(np.mean((smooth.torques(self.motors) - exact) ** 2))))
            smooth_peaks.append(self._peak(smooth))
            sharp_peaks.append(self._peak(self.still(differentiated(self.walk.linear(t), dt))))
        jumps = np.multiply(periods, sharp_peaks)
        return {
            "sharp_by_smooth": Quantity(sharp_peaks[0] / smooth_peaks[0]),
            "error_order": Quantity(exponent(errors, periods)),
            "spikes": Quantity(float(jumps.min() / jumps.max())),
            "smooth_growth": Quantity(abs(exponent(smooth_peaks, periods))),
        }

    def _peak(self, result: PipelineResult) -> float:
        acceleration = result.motions[self.foot].centre.acceleration
        return self.motors[self.foot].mass * float(np.linalg.norm(acceleration, axis=1).max())


def _off_skew(tip: FrameHistory) -> float:
    """Relative symmetric part of T V Tᵀ (eqs. 19, 24, 31, 36), which vanishes for a spatial velocity."""
    turning = (tip.T @ tip.V @ tip.T.swapaxes(1, 2))[:, :3, :3]
    return float(np.max(np.abs(turning + turning.swapaxes(1, 2))) / np.max(np.abs(turning)))


def _relative(found: Array, wanted: Array) -> float:
    return float(np.abs(found - wanted).max() / max(float(np.abs(wanted).max()), 1e-12))


# --- figures --------------------------------------------------------------------------------------------------------
def _fig_12(t: Array, foot: MotorMotion, path: Path) -> Path:
    tip, centre = foot.tip, foot.centre
    panels = [
        vector("Position p", "[m]", t, tip.position),
        vector("Velocity v_o", "[m/s]", t, tip.v_o),
        vector("Acceleration v̇_o", "[m/s²]", t, tip.a_o),
        vector("Angular velocity ω", "[rad/s]", t, _shown(tip.angular)),
        vector("Angular acceleration ω̇", "[rad/s²]", t, _shown(tip.angular_acceleration)),
        vector("Centre of mass p_g", "[m]", t, centre.position),
        vector("Its velocity ṗ_g", "[m/s]", t, centre.velocity),
        vector("Its acceleration p̈_g", "[m/s²]", t, centre.acceleration),
    ]
    return picture(panels, path, "Kinematics of the end of the right leg, body at rest (like fig. 12)", 2)


def _shown(rows: Array) -> Array:
    """Values with rounding errors replaced by zero, for the plots of a flat sole."""
    return np.where(np.abs(rows) < ROUNDING, 0.0, rows)


def _fig_13(t: Array, foot: MotorLoad, path: Path) -> Path:
    panels = [
        vector("Momentum P", "[kg m/s]", t, foot.P),
        vector("Angular momentum L", "[kg m²/s]", t, foot.L),
        vector("Force f", "[N]", t, foot.f),
        vector("Moment τ", "[N m]", t, foot.moment),
        Panel.of("Torque u", "[N m]", t, {"u": foot.u}),
    ]
    return picture(panels, path, "Dynamics of the end of the right leg, body at rest (like fig. 13)", 2)
