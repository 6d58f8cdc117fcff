# SPDX-License-Identifier: Apache-2.0
"""Loop closure with given motors: compiled calls and batches against Newton's method on pinocchio and scipy's root."""

from __future__ import annotations

import numpy as np
from scipy.optimize import root

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.loop_closure import NOT_CLOSED, LoopClosure
from ada_experiments.pinocchio_model import PinocchioModel
from benchmarks import peers
from benchmarks.peers import PINOCCHIO
from benchmarks.report import Aim, Report
from benchmarks.timing import Contender, Schedule, measure

ROBOTS = {"five_bar": 0.2, "parallel_ankle": 0.2, "delta": 0.2, "stewart": 0.03, "hexa": 0.03}  # [rad, m] of the motors
CALL, BATCH, SCIPY = "ada complete_position", "ada batch", "scipy root"
SERVO = "ada solve near the last"
CLOSED, STEPS = 1e-10, 30  # [m, rad]
STATES = 1024


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Mechanisms of the catalogue."""
    report.begin("closure", "positions of all joints from those of the motors")
    for name, size in dict(list(ROBOTS.items())[: 1 if quick else None]).items():
        _compare(name, size, report, schedule)


def _compare(name: str, size: float, report: Report, schedule: Schedule) -> None:
    dynamics = ada.Dynamics(ada.load(name))
    closure = dynamics.constraints.loop_closure("actuated")
    rng = np.random.default_rng(0)
    given = closure.reference[closure.places] + rng.uniform(-size, size, (STATES, len(closure.places)))
    q, status = closure.solve(given)
    given, q = given[status < NOT_CLOSED], q[status < NOT_CLOSED]
    y, near = given[0], q[0]
    beside = near[closure.places] + 1e-3  # a servo cycle later
    names = {"f": dynamics.constraints.complete_position, "solve": closure.solve, "y": y, "Y": given}
    contenders = [
        Contender(CALL, "f(y)", names),
        Contender(SERVO, "solve(beside, near)", {**names, "beside": beside, "near": near}),
        Contender(BATCH, "solve(Y)", names, len(given)),
        Contender(SCIPY, "f(y)", {"f": _ByScipy(dynamics, closure).solve, "y": y}),
    ]
    others: list[_ByScipy | _ByPinocchio] = [_ByScipy(dynamics, closure)]
    if PINOCCHIO in peers.available():
        other = _ByPinocchio(closure)
        others.append(other)
        contenders.append(Contender(PINOCCHIO, "f(y)", {"f": other.solve, "y": y}))
    for one in others:
        worst = peers.require_agreement(f"{name} against {type(one).__name__}", one.solve(y)[None], q[:1], 1e-8)
        report.note(f"{name}: largest difference to {type(one).__name__.removeprefix('_By')} {worst:.0e}")
    timings = measure(contenders, schedule)
    aims = [Aim(slow, fast) for slow in (PINOCCHIO, SCIPY) if slow in timings.labels for fast in (CALL, BATCH)]
    report.timings(name, timings, aims)


class _ByScipy:
    """scipy's root for the dependent velocities, with compiled violation and Jacobian."""

    def __init__(self, dynamics: ada.Dynamics, closure: LoopClosure) -> None:
        self.constraints, self.model, self.closure = dynamics.constraints, dynamics.model, closure
        self.dependent = [k for k in range(self.model.nv) if k not in closure.chosen]

    def solve(self, y: Array) -> Array:
        """Positions of all joints."""
        start = self.closure.reference.copy()
        start[self.closure.places] = y

        def at(x: Array) -> Array:
            step = np.zeros(self.model.nv)
            step[self.dependent] = x
            return np.asarray(self.model.integrate(start, step))

        found = root(
            lambda x: self.constraints.violation(at(x)),
            np.zeros(len(self.dependent)),
            jac=lambda x: self.constraints.jacobian(at(x))[:, self.dependent],
            method="lm",
            options={"xtol": 1e-12, "ftol": 1e-24},
        )
        return at(found.x)


class _ByPinocchio:
    """Newton's method with numpy: the ends of each loop meet in one point (frame Jacobians of pinocchio)."""

    def __init__(self, closure: LoopClosure) -> None:
        self.closure, self.tree = closure, PinocchioModel(closure.model)
        pin, model = self.tree.pin, self.tree.model
        self.pin, self.model, self.data = pin, model, model.createData()
        self.ends = []
        for loop in closure.model.loops.values():
            for link, xyz in ((loop.parent, loop.parent_xyz), (loop.child, loop.child_xyz)):
                joint, pose = self.tree.frames[link]
                placement = pose * pin.SE3(np.eye(3), xyz)
                self.ends.append(model.addFrame(pin.Frame(f"{loop.name}/{link}", joint, placement, pin.OP_FRAME)))
        self.data = model.createData()
        moved = self.tree.velocity(np.isin(np.arange(closure.model.nv), closure.chosen).astype(float))
        self.dependent = np.flatnonzero(moved == 0.0)

    def solve(self, y: Array) -> Array:
        """Positions of all joints."""
        pin, model, data = self.pin, self.model, self.data
        start = self.closure.reference.copy()
        start[self.closure.places] = y
        q = self.tree.position(start)
        for _ in range(STEPS):
            pin.computeJointJacobians(model, data, q)
            pin.updateFramePlacements(model, data)
            points = [data.oMf[end].translation for end in self.ends]
            error = np.concatenate([b - a for a, b in zip(points[::2], points[1::2], strict=True)])
            if np.max(np.abs(error)) < CLOSED:
                break
            J = [pin.getFrameJacobian(model, data, end, pin.LOCAL_WORLD_ALIGNED)[:3] for end in self.ends]
            rows = np.concatenate([b - a for a, b in zip(J[::2], J[1::2], strict=True)])[:, self.dependent]
            step = np.zeros(model.nv)
            step[self.dependent] = -np.linalg.lstsq(rows, error, rcond=1e-9)[0]
            q = pin.integrate(model, q, step)
        return self.tree.own_position(q)
