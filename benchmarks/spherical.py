# SPDX-License-Identifier: Apache-2.0
"""Three revolute joints in one point, Euler angles and a quaternion: the same robots in three descriptions."""

from __future__ import annotations

from itertools import product

import numpy as np

import ada_dynamics as ada
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.dynamics.dynamics import kernel_of
from ada_dynamics.expr import cost
from ada_dynamics.jit import Kernel
from benchmarks.report import Report
from benchmarks.robots import AXES
from benchmarks.timing import Schedule, batch_by_address, measure, rows_in_turn

DESCRIPTIONS = ("3 revolute", "spherical_euler", "spherical")
ARM = "BRB"  # ball, revolute (about y), ball: 7 velocities
CHAIN = "BBBB"  # 12 velocities
BATCH = 512
LENGTH = 0.3  # [m]
COLUMNS = ["algorithm", "description", "flops", "sincos", "divisions", "critical path", "ns", "ns in batch"]


def robot(joints: str, description: str) -> ada.Model:
    """A serial robot of rods; B: turns in all directions about z, y, z; R: about y."""
    builder = ada.Builder(f"{joints}_{description.replace(' ', '_')}").link("base")
    parent = "base"
    for i, kind in enumerate(joints):
        link, at = f"link_{i}", (0.0, 0.0, LENGTH if i else 0.0)
        builder.link(link, 2.0, (0.01, -0.02, 0.5 * LENGTH), (0.02, 0.018, 0.004))
        if kind == "R":
            builder.joint(f"joint_{i}", "revolute", parent, link, at, axis=AXES["y"])
        elif description == "3 revolute":
            for turn, axis in enumerate("zyz"):
                child = link if turn == 2 else f"{link}_{turn}"
                if turn < 2:
                    builder.link(child)  # without mass
                where = (0.0, 0.0, 0.0) if turn else at
                builder.joint(f"joint_{i}_{turn}", "revolute", parent, child, where, axis=AXES[axis])
                parent = child
        else:
            builder.joint(f"joint_{i}", description, parent, link, at)
        parent = link
    return builder.build()


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """A table for each robot."""
    report.begin("spherical", "three revolute joints in one point against one spherical joint")
    algorithms: tuple[Algorithm, ...] = ("aba", "ada") if quick else ("aba", "crba", "ada", "dca")
    for joints in (ARM,) if quick else (ARM, CHAIN):
        rows, contenders = [], []
        for algorithm, description in product(algorithms, DESCRIPTIONS):
            if algorithm in ("ada", "dca") and description == "3 revolute":
                continue  # links without mass have no articulated bodies
            model, label = robot(joints, description), f"{algorithm} {description}"
            kernel = kernel_of(ada.Dynamics(model, algorithm), "forward")
            assert isinstance(kernel, Kernel)
            rng = np.random.default_rng(0)  # angles away from gimbal lock
            turned, v, tau = rng.uniform(0.4, 1.2, size=(3, BATCH, model.nv))
            states = np.array([model.integrate(model.neutral(), angles) for angles in turned]), v, tau
            contenders.append(rows_in_turn(label, kernel, [x[:64] for x in states], 20))
            contenders.append(batch_by_address(f"{label} batch", kernel, states))
            of = cost(quantities.forward(model.tree, algorithm, False).trace())
            rows.append([algorithm, description, of.flops, of.sincos_pairs, of.divisions, of.critical_path])
        timings = measure(contenders, schedule)
        times = [timings.median(label) * 1e9 for label in timings.labels]
        title = f"{joints}: {joints.count('B')} balls, {model.nv} velocities; forward dynamics"
        report.table(title, COLUMNS, [[*row, *times[2 * i : 2 * i + 2]] for i, row in enumerate(rows)])
