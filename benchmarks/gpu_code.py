# SPDX-License-Identifier: Apache-2.0
"""Kernels of graphics processors as NVIDIA's assembler makes them: registers, spills, and what they allow at most.

`python -m benchmarks.gpu_code` writes docs/gpu_kernels.csv anew. No graphics processor is needed.
"""

from __future__ import annotations

import csv
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, fields
from functools import lru_cache
from pathlib import Path

import ada_dynamics as ada
from ada_dynamics.gpu.batch_dynamics import DeviceDynamics
from ada_dynamics.gpu.kernels import ThreadKernel
from ada_dynamics.gpu.rollout import step_kernel
from ada_dynamics.robots import mechanisms

TABLE = Path(__file__).resolve().parents[1] / "docs/gpu_kernels.csv"
VERSION = "12.9"  # of the assembler whose figures the table has
ARM, OTHERS = 90, (70, 75, 80, 86, 89, 100, 120)  # compute capabilities: of most rows, and of one kernel each
STEP = "rk4_step"
QUANTITIES = ("forward", "inverse", "joint_wrenches", "forward_derivatives", STEP)
REDUNDANT = "bennett"
ROBOTS = ("pa10", "four_bar", "five_bar", "stewart", "hexa", "khr1", REDUNDANT)
ROBUST = "forward_robust"  # of the states that forward refuses, where that is another kernel
BY_ROBUST_ORDER = ("stewart", "hexa", REDUNDANT)
# Left out for the time that they take to assemble: steps of hexa, which are those of stewart, and in single precision
# the derivatives of large mechanisms, and inverse dynamics of platforms.
LONG = {
    ("hexa", STEP, 64),
    *((robot, "forward_derivatives", 32) for robot in ("stewart", "hexa", "khr1")),
    *((robot, "inverse", 32) for robot in ("stewart", "hexa")),
}


@dataclass(frozen=True)
class Row:
    """A kernel of the table."""

    robot: str
    quantity: str
    bits: int
    capability: int
    registers: int
    shared: int  # bytes that wait in memory of the group, to there and back: `jit/keeping.py`
    local: int  # and in the thread's own
    spilled: int  # likewise, by the assembler, beyond that plan
    instructions: int  # of PTX
    arithmetic: int  # of these, in floating point; a reciprocal or root counts as many as it becomes
    bytes: int  # of a state, to and from memory
    bound: float  # computed: G states/s that an H100 cannot exceed
    limit: str  # what it would be that it cannot
    cut: str  # how the code is cut: `jit/emit_threads.py`

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Which kernel it is."""
        return self.robot, self.quantity, self.bits, self.capability


def wanted() -> Iterable[tuple[str, str, int, int]]:
    """Keys of all rows."""
    for robot in ROBOTS:
        for quantity in QUANTITIES if robot != REDUNDANT else ("forward",):
            for bits in (64,) if quantity == STEP else (64, 32):
                if (robot, quantity, bits) not in LONG:
                    yield robot, quantity, bits, ARM
        if robot in BY_ROBUST_ORDER:
            yield robot, ROBUST, 64, ARM
    yield from (("pa10", "forward", 64, capability) for capability in OTHERS)


@lru_cache(maxsize=1)
def assembler() -> Path | None:
    """`ptxas` of the wheel nvidia-cuda-nvcc-cu12, or of a toolkit of the same version; None where there is none."""
    candidates = []
    if importlib.util.find_spec("nvidia") and (found := importlib.util.find_spec("nvidia.cuda_nvcc")):
        candidates = [Path(folder) / "bin/ptxas" for folder in found.submodule_search_locations or ()]
    candidates += [Path(path) for path in (shutil.which("ptxas"),) if path]
    for path in candidates:
        if path.exists():
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            if f"release {VERSION}," in said:
                return path
    return None


@lru_cache(maxsize=len(ROBOTS))
def dynamics(robot: str) -> DeviceDynamics:
    """Of a robot of the table."""
    model = mechanisms.stewart()[0] if robot == "stewart" else ada.load(robot)
    found = ada.Dynamics(model, device="host")
    assert isinstance(found, DeviceDynamics)
    return found


def kernel(robot: str, quantity: str, bits: int) -> ThreadKernel:
    """A kernel of the table."""
    if quantity == STEP:
        return step_kernel(simulation(robot).context, dynamics(robot).device)
    if quantity == ROBUST:
        found = dynamics(robot).thread_kernel("forward", bits=bits).robust
        assert found is not None
        return found
    return dynamics(robot).thread_kernel(quantity, bits=bits)


def simulation(robot: str) -> ada.Simulation:
    """Of a robot of the table, in steps of RK4."""
    model = dynamics(robot).model
    start = mechanisms.stewart()[1] if robot == "stewart" else model.neutral()
    return ada.Simulation(model, ada.close_loops(model, start) if model.loops else start, integrator="rk4", step=1e-3)


def assembled(key: tuple[str, str, int, int]) -> Row:
    """A row, made anew; needs the assembler."""
    robot, quantity, bits, capability = key
    one = kernel(robot, quantity, bits)
    text = one.ptx(capability)
    registers, spilled = resources(text, capability)
    instructions, arithmetic = count(text)
    shared, local = (moves(text, where) * bits // 8 for where in ("shared", "local"))
    numbers = sum(size for _, size in one.signature.inputs) + sum(one.signature.output_sizes)
    moved = numbers * bits // 8 + 1
    limit, bound = H100.bound(instructions, arithmetic, moved, shared, local + spilled, bits)
    own = registers, shared, local, spilled, instructions, arithmetic, moved
    return Row(*key, *own, round(bound / 1e9, 3), limit, cut(text))


def cut(text: str) -> str:
    """Parts of a kernel in PTX: functions one after the other, and loops over columns."""
    names = [name for name, _, _ in functions(text)]
    parts = max(1, sum(name.startswith("part") for name in names))
    turns = [match[1] for name in names if (match := re.fullmatch(r"columns\d+_of_(\d+)", name))]
    loops = f" + columns in {' and '.join(turns)} turns" if turns else ""
    return f"{parts} part{'s' if parts > 1 else ''}{loops}"


def functions(text: str) -> Iterator[tuple[str, str, int]]:
    """Functions of PTX: name, body, how often a thread goes through it (loops over columns tell it by their names)."""
    pattern = r"^\.(?:func|visible \.entry) (?:[^\n]*\) )?(\w+)\(\n.*?^\{(.*?)^\}"
    for name, body in re.findall(pattern, text, re.MULTILINE | re.DOTALL):
        turns = re.search(r"_of_(\d+)$", name)
        yield name, body, int(turns[1]) * len(re.findall(rf"call[^;]*\b{name}\b", text)) if turns else 1


def moves(text: str, where: str) -> int:
    """How often a thread's numbers go to a kind of memory and back, in PTX."""
    pattern = rf"^\t(?:ld|st)\.(?:volatile\.)?{where}\.(?:b|f)(?:32|64)\s"
    return sum(times * len(re.findall(pattern, body, re.MULTILINE)) for _, body, times in functions(text))


def resources(text: str, capability: int) -> tuple[int, int]:
    """Registers, and bytes that the assembler spills and fetches again, of a kernel in PTX."""
    path = assembler()
    assert path is not None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(text)
        command = [str(path), "-v", f"-arch=sm_{capability}", str(source), "-o", str(source.with_suffix(".cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ptxas refuses a kernel: {done.stderr[:500]}")
    spills = re.findall(
        r"properties for (\w+)\s+\d+ bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr
    )
    used = re.findall(r"Used (\d+) registers", done.stderr)
    times = {name: often for name, _, often in functions(text)}
    return max(map(int, used)), sum(times[name] * (int(there) + int(back)) for name, there, back in spills)


# Instructions that a reciprocal, a root and a quotient become, as Newton's iteration on the special unit's value.
_LONG = {"rcp": 8, "sqrt": 12, "div": 14}


def count(text: str) -> tuple[int, int]:
    """Instructions of a kernel in PTX, and those of its floating-point units."""
    pattern = re.compile(r"^\t(?:@\S+ )?([a-z]\w*)((?:\.\w+)*)\s[^;]*;", re.MULTILINE)
    counted = [_counted(pattern.findall(body), times) for _, body, times in functions(text)]
    return sum(all_of_it for all_of_it, _ in counted), sum(arithmetic for _, arithmetic in counted)


def _counted(words: list[tuple[str, str]], times: int) -> tuple[int, int]:
    body = [(word, kind) for word, kind in words if kind.split(".")[-1] not in ("reg",)]
    real = [word for word, kind in body if kind.endswith((".f64", ".f32")) and word not in ("ld", "st", "mov", "selp")]
    arithmetic = sum(_LONG.get(word, 1) for word in real)
    return times * (len(body) + arithmetic - len(real)), times * arithmetic


@dataclass(frozen=True)
class Device:
    """What a graphics processor can do at most, by its data sheet."""

    multiprocessors: int
    clock: float  # [Hz]
    per_clock: dict[int, int]  # operations of one multiprocessor, by their bits
    memory: float  # [B/s]
    shared: float  # [B] that one multiprocessor moves to and from its groups' memory in one clock
    cache: float  # [B/s], of the cache that all multiprocessors share: threads' own memory goes through it

    def bound(
        self, instructions: int, arithmetic: int, moved: int, shared: int, local: int, bits: int
    ) -> tuple[str, float]:
        """What is the first that more states per second would be too many for, and how many that are."""
        clocks = self.multiprocessors * self.clock
        seconds = {
            "arithmetic": arithmetic / self.per_clock[bits] / clocks,
            "instructions": instructions / 128 / clocks,  # four groups of 32 start at a time
            "shared memory": shared / self.shared / clocks,
            "memory": moved / self.memory,
            "local memory": local / self.cache,
        }
        limit = max(seconds, key=seconds.__getitem__)
        return limit, 1.0 / seconds[limit]


# NVIDIA H100 SXM: data sheet, and for the cache what others measured.
H100 = Device(132, 1.755e9, {64: 64, 32: 128}, 3.35e12, 128, 5.5e12)


def read() -> dict[tuple[str, str, int, int], Row]:
    """The table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [Row(*(_value(cell) for cell in line)) for line in list(csv.reader(file))[1:]]  # type: ignore[arg-type]
    return {row.key: row for row in rows}


def _value(cell: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def main() -> int:
    """Write the table."""
    if assembler() is None:
        print(f"ptxas {VERSION} is not there: pip install 'nvidia-cuda-nvcc-cu12>={VERSION}'", file=sys.stderr)
        return 2
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Row))
        for key in wanted():
            row = assembled(key)
            writer.writerow(astuple(row))
            print(*asdict(row).values())
    return 0


if __name__ == "__main__":
    sys.exit(main())
