# SPDX-License-Identifier: Apache-2.0
"""What a step of assembly costs here, and what that means for many workers; three revolute joints against a ball."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import ada_dynamics as ada
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.front import kernel_of
from ada_dynamics.expr import Function, cost
from ada_dynamics.expr.operation_count import critical_path
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.jit.generic import GenericKernel
from ada_dynamics.spatial.rotation import IDENTITY
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Vec3
from benchmarks import assembly_steps, parallel_model, parallel_run, spherical
from benchmarks.assembly_steps import BOTH, CHAIN, Kind
from benchmarks.native import batch_by_address, rows_in_turn
from benchmarks.parallel_model import Speed, Worker
from benchmarks.report import Report
from benchmarks.timing import Contender, Plan, Timings, measure, on_all_cpus

ROWS = 64  # states per call; what they hold stays in the second-level cache
REPEATS = 40
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
QUICK = (8, 64)
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
MOST = WORKERS[-1]
COMPARED = 512  # links of the chains whose time per joint is taken
THREADS = 2
CHECKED = (8, 16)  # links of chains whose own balanced kernels are timed
# Assumptions, stated with the tables. A cache line goes from one core to another in about 0.1 us; a barrier takes
# log2(p) of them.
HOP = 1e-7  # [s]
FAR_HOP = 1e-6  # [s] between machines that have a fast network
STEP_KINDS = sorted(
    {BOTH, assembly_steps.ADD_LINK, assembly_steps.PAIR, parallel_model.TIP, CHAIN}
    | {kind for n in (*CHECKED, *QUICK) for level in parallel_model.balanced(n) for kind, _ in level}
)
CLOSING = (BOTH, assembly_steps.ADD_LINK, assembly_steps.PAIR, CHAIN)  # shown; the others are rare


@dataclass(frozen=True)
class Gpu:
    """An NVIDIA H200 on paper; nothing here was run on one."""

    processors: int = 132
    clock: float = 1.98e9  # [Hz]
    units: int = 64  # of double precision in each processor: a warp's instruction takes 32/16 cycles on a quarter
    bandwidth: float = 4.8e12  # [B/s]
    launch: float = 3e-6  # [s], assumed
    grid_barrier: float = 1.5e-6  # [s], assumed
    latency: int = 8  # cycles from one dependent operation to the next, assumed

    @property
    def threads(self) -> int:
        """That make one warp on each quarter of a processor."""
        return self.processors * 4 * 32

    @property
    def rate(self) -> float:
        """Operations per second where none is fused."""
        return self.processors * self.units * self.clock

    def seconds(self, function: Function) -> float:
        """For one thread: every operation is issued by itself; what does not fit into registers is left out."""
        depth = critical_path(function.nodes(), dict.fromkeys(("add", "sub", "mul", "rec"), 1))
        return max(2.0 * cost(function).work, float(self.latency * depth)) / self.clock


GPU = Gpu()


def run(report: Report, plan: Plan, quick: bool) -> None:
    """Steps, prediction, check of the prediction where it can be checked, merged joints."""
    report.begin("assembly", "steps of ADA and DCA; time on many workers; spherical joints")
    functions = _functions()
    checked = CHECKED[:1] if quick else CHECKED
    contenders = [c for name, f in functions.items() for c in _contenders(name, f)]
    # one round for all: the machine is the same for the steps and for what they are compared with
    timings = measure([*contenders, *_joints(), *_whole(checked)], plan)
    _show_steps(report, functions, timings)
    joints = _show_joints(report, timings)
    worker = Worker(_speed(functions, timings), _speed(functions, timings, " wide"), _lanes(functions), HOP)
    lengths = QUICK if quick else LENGTHS
    _show_prediction(report, worker, joints, lengths)
    _show_gpu(report, functions, joints, lengths)
    own = _speed(functions, timings, prefix=FOLDED)
    _check(report, functions, timings, worker.single, own, checked)
    _show_runs(report, plan, QUICK if quick else parallel_run.LENGTHS)
    spherical.run(report, plan, quick)


FOLDED = "folded "


# --- steps ----------------------------------------------------------------------------------------------------------
def _functions() -> dict[str, Function]:
    """Everything that is timed, by name."""
    found = {str(kind): assembly_steps.step(kind) for kind in STEP_KINDS}
    found |= {f"dca {kind}": assembly_steps.step(kind, "dca") for kind in (BOTH, CHAIN)}
    at = Transform(IDENTITY, Vec3(0.0, 0.0, 0.1))
    found |= {f"{FOLDED}{kind}": assembly_steps.step(kind, "ada", at) for kind in STEP_KINDS}
    return {**found, "link": assembly_steps.link(), "turn": assembly_steps.turn()}


def _kind(name: str) -> Kind:
    return next((kind for kind in STEP_KINDS if name.endswith(str(kind))), CHAIN)


def _contenders(name: str, function: Function) -> list[Contender]:
    key = f"benchmark {name} {cost(function)}"
    kernel = Kernel(Signature.of(function), lambda: function, key)
    rows = list(assembly_steps.inputs(function, _kind(name), ROWS).values())
    return [rows_in_turn(name, kernel, rows, REPEATS), batch_by_address(f"{name} wide", kernel, rows)]


def _show_steps(report: Report, functions: Mapping[str, Function], timings: Timings) -> None:
    rows = []
    names = [str(kind) for kind in CLOSING]
    for name in [*names, *(x for x in functions if x.startswith("dca")), *(FOLDED + x for x in names), "link", "turn"]:
        of = cost(functions[name])
        times = [timings.median(label) * 1e9 for label in (name, f"{name} wide")]
        rows.append([name, of.flops, of.divisions, of.critical_path, *times, of.work / times[0], of.work / times[1]])
    columns = ["handles", "flops", "divisions", "critical path", "ns", "ns in lanes", "Gflop/s", "in lanes"]
    report.table("one step: assembly and disassembly, for any robot; folded: placement known", columns, rows)
    report.note(
        "inner body + outer body -> what stays open; P, C: the joint's links, I, K: the bodies' far ends. In lanes: "
        "as many equal steps at once, per step"
    )


def _lanes(functions: Mapping[str, Function]) -> int:
    function = functions["turn"]
    return Kernel(Signature.of(function), lambda: function, "benchmark lanes").info().lanes


def _speed(functions: Mapping[str, Function], timings: Timings, suffix: str = "", prefix: str = "") -> Speed:
    lanes = _lanes(functions) if suffix else 1
    seconds = {name: timings.median(name + suffix) * lanes for name in functions}
    return Speed({kind: seconds[f"{prefix}{kind}"] for kind in STEP_KINDS}, seconds["link"], seconds["turn"])


# --- sequential -----------------------------------------------------------------------------------------------------
def _joints() -> list[Contender]:
    """The loop kernels, for one state and in batches; a run counts as many as it has joints."""
    contenders, model = [], ada.chain_3d(COMPARED)
    rng = np.random.default_rng(0)
    for algorithm in ("aba", "ada"):
        kernel = kernel_of(ada.Dynamics(model, algorithm, kernel="generic"), "forward")
        assert isinstance(kernel, GenericKernel)
        states = [np.asfortranarray(rng.normal(size=(16, COMPARED))) for _ in range(3)]
        names = {"single": kernel.native_repeat, "batch": kernel.batch, "states": states}
        for how in ("single", "batch"):
            contenders.append(Contender(f"{algorithm} {how}", f"{how}(*states)", names, 16 * COMPARED))
    return contenders


def _show_joints(report: Report, timings: Timings) -> dict[str, float]:
    """Seconds per joint."""
    found = {label: timings.median(label) for label in timings.labels if label.split()[-1] in ("single", "batch")}
    rows = [[name, found[f"{name} single"] * 1e9, found[f"{name} batch"] * 1e9] for name in ("aba", "ada")]
    title = f"sequential, joint by joint: loop kernels on a chain of {COMPARED} links"
    report.table(title, ["algorithm", "ns/joint", "in a batch"], rows)
    return found


# --- prediction -----------------------------------------------------------------------------------------------------
def _show_prediction(report: Report, worker: Worker, joints: Mapping[str, float], lengths: Sequence[int]) -> None:
    far = Worker(worker.single, worker.wide, worker.lanes, FAR_HOP)
    alone = Worker(worker.single, worker.single, 1, HOP)
    columns = ["links", "depth", "ABA", *(f"p={p}" for p in WORKERS), "crossover"]
    for what, one in (
        (f"each with one lane, {HOP * 1e6:g} us per hop", alone),
        (f"each with {worker.lanes} lanes, {HOP * 1e6:g} us per hop", worker),
        (f"each with {worker.lanes} lanes, {FAR_HOP * 1e6:g} us per hop", far),
    ):
        rows: list[list[object]] = []
        for n in lengths:
            sequential = n * joints["aba single"]
            times = [parallel_model.best(n, p, one) * 1e6 for p in WORKERS]
            cross = parallel_model.crossover(n, sequential, one, MOST)
            rows.append([n, len(parallel_model.balanced(n)), sequential * 1e6, *times, cross or f"> {MOST}"])
        report.table(f"computed: one evaluation [us] on p workers, {what}", columns, rows)
    report.note(
        "computed from the measured steps; only the column ABA is measured per joint. crossover: workers from which "
        "assembly is quicker than sequential ABA on one of them"
    )


def gpu_worker(functions: Mapping[str, Function], gpu: Gpu = GPU) -> Worker:
    """A thread of a GPU, as if all memory were registers."""
    seconds = {name: gpu.seconds(function) for name, function in functions.items()}
    speed = Speed({kind: seconds[str(kind)] for kind in STEP_KINDS}, seconds["link"], seconds["turn"])
    return Worker(speed, speed, 1, 0.0, gpu.grid_barrier)


def _show_gpu(
    report: Report, functions: Mapping[str, Function], joints: Mapping[str, float], lengths: Sequence[int]
) -> None:
    worker = gpu_worker(functions)
    rows: list[list[object]] = []
    for n in lengths:
        seconds = GPU.launch + parallel_model.by_levels(n, GPU.threads, worker)
        rows.append([n, n * joints["aba single"] * 1e6, seconds * 1e6])
    columns = ["links", "ABA on one core here", "ADA, balanced, on the GPU"]
    report.table("computed: one evaluation [us] on an NVIDIA H200, one thread per step", columns, rows)
    # a batch is parallel by itself: each thread runs the sequential algorithm; its workspace goes through memory
    work = cost(functions[str(CHAIN)]).work + cost(functions["link"]).work
    by_rate, by_memory = work / GPU.rate, 8.0 * 2 * 300 / GPU.bandwidth
    bounds: list[list[object]] = [
        ["arithmetic", by_rate * 1e9],
        ["memory, 300 numbers per joint out and in", by_memory * 1e9],
    ]
    bounds.append(["one core here, measured", joints["ada batch"] * 1e9])
    report.table("computed: a batch by ADA, joint by joint, one state per thread", ["bound by", "ns per joint"], bounds)
    report.note("nothing was run on a GPU; latencies are assumed, peaks are published ones")


# --- runs -----------------------------------------------------------------------------------------------------------
def _show_runs(report: Report, plan: Plan, lengths: Sequence[int]) -> None:
    steps = parallel_run.Steps()
    for what, start, algorithm in (
        ("chain", parallel_run.on_chain, "ABA"),
        ("ring closed by a loop joint", parallel_run.on_ring, "the library"),
    ):
        rows: list[list[object]] = []
        for n in lengths:
            state = start(n)
            chains = [parallel_run.Chain(state.model, steps, threads) for threads in (1, THREADS)]
            with on_all_cpus():
                of = parallel_run.times(state, parallel_run.compared(state), chains, plan.rounds)
            depth = len(parallel_model.balanced(n))
            seconds, gain = (of.sequential, *of.by_depths), of.sequential / min(of.by_depths)
            rows.append([n, depth, *(1e6 * one for one in seconds), gain, of.difference])
        columns = ["links", "depth", algorithm, "one thread", f"{THREADS} threads", "gain of the better", "difference"]
        report.table(f"measured: one evaluation [us] of a {what}, depth by depth, in lanes", columns, rows)
    report.note("by the clock on the wall; difference: of accelerations, relative to the largest")


# --- check ----------------------------------------------------------------------------------------------------------
def _whole(lengths: Sequence[int]) -> list[Contender]:
    """Whole chains in the balanced order, each with its own code."""
    contenders = []
    for n in lengths:
        kernel = kernel_of(ada.Dynamics(ada.chain_3d(n), "ada", order="balanced"), "forward")
        assert isinstance(kernel, Kernel)
        rng = np.random.default_rng(n)
        contenders.append(rows_in_turn(_name(n), kernel, [rng.normal(size=(64, n)) for _ in range(3)], 10))
    return contenders


def _name(n: int) -> str:
    return f"balanced order, {n} links, a robot's own kernel"


def _check(
    report: Report,
    functions: Mapping[str, Function],
    timings: Timings,
    speed: Speed,
    own: Speed,
    lengths: Sequence[int],
) -> None:
    """The model with one worker, against kernels that run on one worker; `own`: of steps with known placements."""
    flops = {name: float(cost(function).flops) for name, function in functions.items()}
    counted = Speed({kind: flops[f"{FOLDED}{kind}"] for kind in STEP_KINDS}, flops["link"], flops["turn"])
    chain, measured = speed.link + speed.steps[CHAIN], timings.median("ada single")
    rows: list[list[object]] = [
        [f"chain order, {COMPARED} links, per joint", "", "", chain * 1e9, measured * 1e9, chain / measured]
    ]
    for n in lengths:
        of, (work, computed) = (
            cost(_own(n)).flops,
            (parallel_model.by_levels(n, 1, Worker(one, one, 1, 0.0)) for one in (counted, own)),
        )
        measured = timings.median(_name(n))
        rows.append([_name(n), round(work), of, computed * 1e9, measured * 1e9, computed / measured])
    columns = ["", "flops computed", "counted", "ns computed", "measured", "computed / measured"]
    report.table("the model for one worker", columns, rows)
    report.note(
        "the kernels know more than the steps: the loop kernel has the parent link's operators at the joint in its "
        "tables, a robot's own kernel has them, and zeros, folded in"
    )


def _own(n: int) -> Function:
    return quantities.forward(ada.chain_3d(n).tree, "ada", False, "balanced").trace()
