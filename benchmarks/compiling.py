# SPDX-License-Identifier: Apache-2.0
"""Time of the first use: import, tracing and compiling, loading from the cache; each in fresh processes.

`python -m benchmarks.compiling ROBOT warm|cold` is such a process and prints JSON. `warm` uses LLVM before.
"""

# ruff: noqa: E402 - the time of the imports is measured

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import process_time

START = process_time()
import ada_dynamics as ada

IMPORTED = process_time()
import numpy as np

from ada_dynamics.dynamics.dynamics import kernel_of
from ada_dynamics.expr import trace
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.robots import mechanisms

LIBRARY = process_time()
from benchmarks import robots
from benchmarks.report import Report
from benchmarks.timing import Schedule

ROOT = Path(__file__).resolve().parent.parent
# velocities; goal for tracing and compiling the kernel of one state [s]
COMPILE = {"pa10": (7, 0.15), "stewart": (24, 0.3), "humanoid": (30, 0.8)}
FIRST = {"stewart": 0.5}  # [s], model to first result, including the analysis of loops and elimination orders
CACHED = 5e-3  # [s]
IMPORT = 0.3  # [s]

Steps = dict[str, float]


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Print a table per robot."""
    del schedule
    report.begin("compile", "processor seconds until the first result, medians of fresh processes")
    imports: list[float] = []
    with tempfile.TemporaryDirectory(prefix="ada-bench-") as folder:
        fresh = _Fresh(Path(folder), 1 if quick else 5)
        for robot in ["pa10"] if quick else list(COMPILE):
            imports += _one(robot, fresh, report)
    report.aim("import ada_dynamics", median(imports), IMPORT, "s")


def _one(robot: str, fresh: _Fresh, report: Report) -> tuple[float, float]:
    velocities, goal = COMPILE[robot]
    compiled, cold = (fresh(robot, how, keep=False) for how in ("warm", "cold"))
    fresh(robot, "warm", keep=True)
    loaded, found = (fresh(robot, how, keep=True) for how in ("warm", "cold"))
    if loaded["cached"] != 1.0:
        report.note(f"{robot}: the cache did not return the objects")
    rows = [
        ["first call of the kernel, one state (traces and compiles, or loads)", compiled["single"], loaded["single"]],
        ["first call of the kernel, batch (the same)", compiled["batch"], loaded["batch"]],
        ["model to first result, LLVM in use before", compiled["first result"], loaded["first result"]],
        ["model to first result, LLVM not in use before", cold["first result"], found["first result"]],
        ["import to the first result, all in", cold["import to result"], found["import to result"]],
    ]
    report.table(f"{robot}, {velocities} velocities", ["s", "compiled", "from the cache"], rows)
    report.aim(f"{robot}: trace and compile one state's kernel", compiled["single"], goal, "s")
    report.aim(f"{robot}: load one state's kernel from the cache", loaded["single"], CACHED, "s")
    if robot in FIRST:
        report.aim(f"{robot}: model to first result", compiled["first result"], FIRST[robot], "s")
    return cold["import"], found["import"]


class _Fresh:
    """Runs fresh processes."""

    def __init__(self, folder: Path, times: int) -> None:
        self._objects = folder / "objects"
        self._times = times
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        left_out = ("ADA_CACHE", "ADA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE")
        self._environment = {key: value for key, value in os.environ.items() if key not in left_out}
        # Byte code is kept, like that of an installed package, but not in the checkout.
        self._environment |= {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        self._run("pa10", "warm", {"ADA_CACHE": "off"})

    def __call__(self, robot: str, how: str, keep: bool) -> Steps:
        """Medians of several fresh processes, with or without the cache of compiled objects."""
        cache = {"ADA_CACHE_DIR": str(self._objects)} if keep else {"ADA_CACHE": "off"}
        runs = [self._run(robot, how, cache) for _ in range(self._times)]
        return {key: median(run[key] for run in runs) for key in runs[0]}

    def _run(self, robot: str, how: str, cache: dict[str, str]) -> Steps:
        command = [sys.executable, "-m", "benchmarks.compiling", robot, how]
        environment = {**self._environment, **cache}
        done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
        steps: Steps = json.loads(done.stdout)
        return steps


# --- in a fresh process ---------------------------------------------------------------------------------------------
def first_use(robot: str, warm: bool) -> Steps:
    """Seconds of each step up to the first result."""
    unrelated = process_time() - LIBRARY  # imports of the benchmarks
    if warm:
        _use_llvm()
    if robot == "stewart":
        model, pose = mechanisms.stewart()
        states = np.tile(pose, (64, 1)), np.zeros((64, model.nv)), np.ones((64, model.nv))
    else:
        model = {"pa10": robots.pa10, "humanoid": robots.humanoid}[robot]()
        states = robots.random_states(model, 64)
    q, v, tau = (np.ascontiguousarray(x[0]) for x in states)
    begun = process_time()
    dynamics = ada.Dynamics(model)
    kernel = kernel_of(dynamics, "forward")
    assert isinstance(kernel, Kernel)
    made = process_time()
    kernel.single(q, v, tau)
    single = process_time()
    dynamics.forward(q, v, tau)
    called = process_time()
    kernel.batch(*states)
    batch = process_time()
    return {
        "import": IMPORTED - START,
        "single": single - made,
        "batch": batch - called,
        "first result": called - begun,
        "import to result": called - START - unrelated,
        "cached": float(all(kernel.info().cached.values())),
    }


def _use_llvm() -> None:
    """Compile a small function, so that the start of LLVM itself is not counted."""
    function = trace("warm_up", {"x": 1}, lambda x: {"y": (x[0] + 1.0,)})
    Kernel(Signature.of(function), lambda: function, "benchmarks warm up").single(np.zeros(1))


if __name__ == "__main__":
    print(json.dumps(first_use(sys.argv[1], sys.argv[2] == "warm")))
