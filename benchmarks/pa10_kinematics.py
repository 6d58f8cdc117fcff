# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the PA-10: all solutions of a pose in closed form, beside Newton with pinocchio for one of them.

pinocchio's version is the usual loop: error of the pose as a logarithm, damped least squares with the Jacobian of the
frame, until the error is below 1e-10. It starts from angles that are off by 0.1 rad each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_controllers import pa10_kinematics as pa10
from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from benchmarks import peers
from benchmarks.peers import PINOCCHIO
from benchmarks.report import Aim, Report
from benchmarks.timing import Contender, Plan, measure

RATE = 1e6  # solutions per second that are aimed at
CALL = 5.0  # [us] of one call
BATCH = 10_000
EXACT = 1e-10
DAMPING = 1e-12
TRIES = 100
SINGLE, LIMITED = "ada, 8 solutions", "ada, those within limits"


def run(report: Report, plan: Plan, quick: bool) -> None:
    """Single calls and batches, with S1 and with S3 given."""
    lower, upper = pa10.joint_limits()
    angles = np.random.default_rng(0).uniform(0.9 * lower, 0.9 * upper, (100 if quick else BATCH, 7))
    poses = pa10.forward(angles)
    _single(report, plan, angles, poses)
    _batch(report, plan, angles, poses)


def _single(report: Report, plan: Plan, angles: Array, poses: Array) -> None:
    names: dict[str, Any] = {"f": pa10.inverse, "T": poses[0], "s1": float(angles[0, 0]), "s3": float(angles[0, 2])}
    contenders = [
        Contender(SINGLE, "f(T, value=s1)", names),
        Contender(f"{SINGLE}, S3 given", "f(T, redundant='s3', value=s3)", names),
        Contender(LIMITED, "f(T, value=s1, within_limits=True)", names),
        Contender("ada, forward", "f(q)", {"f": pa10.forward, "q": angles[0].copy()}),
        Contender("ada, body Jacobian", "f(q)", {"f": pa10.body_jacobian, "q": angles[0].copy()}),
    ]
    aims = []
    if PINOCCHIO in peers.available():
        newton = Newton()
        start = angles[0] + 0.1
        found = newton.solve(poses[0], start)
        if found is None:
            raise AdaError("PA-10: Newton's method with pinocchio does not get there.")
        peers.insist("PA-10: inverse kinematics", pa10.forward(found)[:3], poses[0][:3], 1e-9)
        contenders.append(Contender(PINOCCHIO, "f(T, q)", {"f": newton.solve, "T": poses[0], "q": start}))
        aims = [Aim(PINOCCHIO, SINGLE)]
        report.note(f"PA-10: Newton's method with pinocchio takes {newton.steps} steps there, for one solution")
    timings = measure(contenders, plan)
    report.timings("PA-10: inverse kinematics of one pose", timings, aims)
    report.aim("PA-10: all solutions of a pose", 1e6 * timings.median(SINGLE), CALL, "us")


def _batch(report: Report, plan: Plan, angles: Array, poses: Array) -> None:
    count = len(poses)
    names = {"f": pa10.inverse_batch, "T": poses, "s1": angles[:, 0].copy(), "s3": angles[:, 2].copy()}
    ways = {"S1 given": "f(T, s1)", "S3 given": "f(T, s3, redundant='s3')"}
    timings = measure([Contender(text, statement, names, count) for text, statement in ways.items()], plan)
    rows = [[text, 1e6 * timings.median(text), 8.0 / timings.median(text) / 1e6] for text in ways]
    report.table(f"PA-10: {count} poses at once", ["", "us per pose", "million solutions per second"], rows)
    for text in ways:
        report.aim(f"PA-10: solutions per second, {text}", 8.0 / timings.median(text), RATE, "1/s", at_least=True)


class Newton:
    """Damped least squares on the error of the pose, with pinocchio.

    Attributes:
        steps: of the last solution.
    """

    def __init__(self) -> None:
        import pinocchio

        self.pin: Any = pinocchio
        self.model = pinocchio.buildModelFromUrdf(str(resources.find("urdf", "pa10.urdf")))
        self.data = self.model.createData()
        self.frame = self.model.getFrameId("flange")
        self.steps = 0

    def solve(self, pose: Array, start: Array) -> Array | None:
        """Angles near a start; None where it does not get there."""
        pin, model, data = self.pin, self.model, self.data
        wanted, q = pin.SE3(pose), start.copy()
        for self.steps in range(TRIES):
            pin.framesForwardKinematics(model, data, q)
            error = pin.log6(data.oMf[self.frame].actInv(wanted)).vector
            if np.abs(error).max() < EXACT:
                return np.asarray(q)
            jacobian = pin.computeFrameJacobian(model, data, q, self.frame)
            q = q + jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + DAMPING * np.eye(6), error)
        return None
