# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.gpu [SECTION ...] [--device cuda] [--json FILE]`, for graphics processors."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

import ada_dynamics as ada
from ada_dynamics.gpu.arrays import DeviceArray
from ada_dynamics.gpu.batch_dynamics import DeviceDynamics, device_of
from ada_dynamics.gpu.cuda_driver import Gpu
from ada_dynamics.gpu.kernels import ThreadKernel, launch
from ada_dynamics.gpu.rollout import DeviceRollout
from ada_dynamics.robots import mechanisms
from benchmarks.report import MeasuredTarget, Report, describe_machine, parse, require, run_sections

SECTIONS = ("kernels", "steps")
METHOD = """\
method: kernels run on arrays in device memory, stored by columns; they are launched one after the other and waited for
at the end. Times are wall-clock times.\
"""
ROBOTS = ("pa10", "four_bar", "five_bar", "stewart", "hexa", "khr1")
QUANTITIES = ("forward", "inverse")
# G states/s: by robot, quantity, bits.
GOALS = {
    ("pa10", "forward", 64): 5.0,
    ("pa10", "forward", 32): 9.0,
    ("four_bar", "forward", 64): 5.0,
    ("hexa", "forward", 64): 0.3,
}
STEP_GOAL = 1.0  # G steps/s
# Another order of fused operations: roundings times the condition of mass matrices, of the largest number.
AGREE = {64: 1e-9, 32: 5e-3}


@lru_cache(maxsize=len(ROBOTS))
def robot_model(robot: str) -> ada.Model:
    """Return the model of a robot of the table."""
    return mechanisms.stewart()[0] if robot == "stewart" else ada.load(robot)


def simulation(robot: str) -> ada.Simulation:
    """Return its simulation in steps of RK4, from a configuration with closed loops."""
    model = robot_model(robot)
    start = mechanisms.stewart()[1] if robot == "stewart" else model.neutral()
    return ada.Simulation(model, ada.close_loops(model, start) if model.loops else start, integrator="rk4", step=1e-3)


def states_of(robot: str, count: int) -> list[np.ndarray]:
    """q, v and τ: random about a pose that closes the loops; on the loops as far as rows are repeated."""
    model, rng, few = robot_model(robot), np.random.default_rng(0), 64
    if model.loops:
        start = simulation(robot).q
        q = np.array([model.integrate(start, 0.05 * rng.normal(size=model.nv), 1.0) for _ in range(few)])
        q, v = ada.Dynamics(model).project_to_constraints(q, 0.1 * rng.normal(size=(few, model.nv)))
    else:
        q, v = np.array([model.random_state(rng)[0] for _ in range(few)]), rng.normal(size=(few, model.nv))
    tau = rng.normal(size=(few, model.nv))
    return [np.resize(x, (count, x.shape[1])) for x in (q, v, tau)]


def placed(kernel: ThreadKernel, arrays: list[np.ndarray]) -> list[DeviceArray]:
    """In columns on the device."""
    return [DeviceArray.of(kernel.device, np.asarray(x, dtype=kernel.dtype), columns=True) for x in arrays]


def states_per_second(run: Callable[[], object], wait: Callable[[], None], states: int, seconds: float) -> float:
    """Rate of a function that is started repeatedly and waited for at the end."""
    run()
    wait()
    repeats = 1
    while True:
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        wait()
        took = time.perf_counter() - start
        if took > seconds:
            return states * repeats / took
        repeats *= 2


def kernels(report: Report, device: str, states: int, seconds: float, robots: Sequence[str]) -> None:
    """Every kernel of the table of these robots."""
    report.begin("kernels", f"states per second on {device_of(device).name}")
    rows = []
    for robot, quantity, bits in product(robots, QUANTITIES, (64, 32)):
        name = f"{robot} {quantity} f{bits}"
        kernel = _on(robot, device).thread_kernel(quantity, bits=bits)
        inputs = states_of(robot, states)
        arrays = dict(zip((name for name, _ in kernel.signature.inputs), placed(kernel, inputs), strict=True))
        given = {name: array.view(name) for name, array in arrays.items()}
        (out,), refused = launch(kernel, given)
        once = out.numpy()
        (again,), _ = launch(kernel, given)
        same = np.array_equal(once, again.numpy(), equal_nan=True)
        error = _difference(robot, quantity, inputs, once)
        if not same or not error <= AGREE[bits]:
            raise RuntimeError(f"{name}: two runs equal: {same}; off by {error:.1e} of the largest number")
        rate = states_per_second(
            lambda: launch(kernel, given, [out]),  # noqa: B023 - called within this turn
            kernel.device.wait,
            states,
            seconds,
        )
        used = kernel.device.resources(kernel.loaded()) if isinstance(kernel.device, Gpu) else ("", "")
        rows.append([name, *used, rate / 1e9, error, len(refused.rows())])
        if (robot, quantity, bits) in GOALS and isinstance(kernel.device, Gpu):
            goal = GOALS[robot, quantity, bits]
            report.targets.append(MeasuredTarget("kernels", name, rate / 1e9, goal, unit="G states/s"))
    columns = ["kernel", "registers", "local B", "G states/s", "off by", "refused"]
    report.table(f"{states} states; two runs gave the same bits", columns, rows)


def _difference(robot: str, quantity: str, inputs: list[np.ndarray], found: np.ndarray) -> float:
    """Difference from the CPU, relative to the largest number."""
    expected = getattr(ada.Dynamics(robot_model(robot)), quantity)(*(x[:64] for x in inputs))
    return float(np.max(np.abs(found[:64] - expected)) / max(np.max(np.abs(expected)), 1.0))


def steps(report: Report, device: str, states: int, seconds: float, robots: Sequence[str]) -> None:
    """Steps of RK4 that stay on the device."""
    report.begin("steps", f"steps of RK4 on {device_of(device).name}, loops closed again in each")
    rows = []
    for robot in robots:
        sim = simulation(robot)
        q, v, _ = states_of(robot, states)
        motions = DeviceRollout(sim.context, np.concatenate([q, v], axis=1), np.zeros(sim.model.nv), device)
        rate = states_per_second(lambda: motions.run(1), motions.device.wait, states, seconds)  # noqa: B023
        rows.append([robot, rate / 1e9, motions.cpu_steps])
        if robot == "pa10" and isinstance(motions.device, Gpu):
            report.targets.append(MeasuredTarget("steps", "pa10 RK4", rate / 1e9, STEP_GOAL, unit="G steps/s"))
    report.table(f"{states} motions", ["robot", "G steps/s", "taken here"], rows)


def _on(robot: str, device: str) -> DeviceDynamics:
    found = ada.Dynamics(robot_model(robot), device=device)
    assert isinstance(found, DeviceDynamics)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 if a target is missed, 2 if a section failed."""
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1; host: only check that everything runs")
    parser.add_argument("--states", type=int, default=2**20, help="of a batch (default 2^20)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    chosen = parse(parser, arguments, SECTIONS)
    require(parser, "--states", chosen.states, 2**27)
    states, seconds = (100, 1e-4) if chosen.quick else (chosen.states, 0.5)
    robots = ROBOTS[: 2 if chosen.quick else None]
    report = Report(describe_machine("not pinned"))
    sections: dict[str, Callable[[], None]] = {
        "kernels": lambda: kernels(report, chosen.device, states, seconds, robots),
        "steps": lambda: steps(report, chosen.device, states, seconds, robots),
    }
    return run_sections(report, METHOD, {name: sections[name] for name in chosen.section}, chosen.json)


if __name__ == "__main__":
    sys.exit(main())
