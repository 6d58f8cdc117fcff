# SPDX-License-Identifier: Apache-2.0
"""Check the installation and optional packages.

Checked are Python, packages, missing extras with their features and install commands, processor, cache, kernel
compilation against a closed form, GPU, real-time permissions, ROS 2 and browser. `pip check` compares versions.

Examples:
  ada doctor
  ada doctor --json

exit code:
  0  all required parts work        1  a required part does not work
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import re
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import numpy as np

from ada_dynamics._version import __version__
from ada_dynamics.errors import AdaError
from ada_dynamics.jit.cache import ObjectCache, without_cache
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.target import Target
from ada_dynamics.resources import NAME as PACKAGE
from ada_dynamics.resources import how_to_install
from ada_hardware.self_test.checks import Check, Checks
from ada_robot.ros.environment import ros_problem, wheels_version
from ada_robot.timing.realtime import memory_limit, priority_limit
from ada_tools.browser.page import has_screen
from ada_tools.commands.common import print_json

OLDEST = (3, 10)
_CLOSED_FORM = 1e-12  # [rad/s²] tolerance of the first kernel: a few roundings at values around ten
_NO_COMPILER = "kernels run in plain Python, with the same results but slower"
# Features of the extras for users; ros has a check of its own.
PURPOSES = {
    "view": "browser view, `ada demo`, meshes",
    "tools": "plots, animations, mesh hulls, excitation trajectories",
    "record": "recordings (.mcap)",
    "xacro": "robots in .xacro files",
    "hardware": "serial devices",
    "torch": "dynamics in torch, with gradients (`ada.torch`)",
    "jax": "dynamics in JAX, with gradients (`ada.jax`)",
    "casadi": "CasADi functions (`ada.casadi`)",
    "gym": "Gymnasium environments (`ada.gym`)",
}
_REQUIREMENT = re.compile(r"""([\w.-]+)[^;]*(?:;.*extra\s*==\s*["']([\w-]+)["'])?""")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print a JSON summary at the end")


def run(options: argparse.Namespace) -> int:
    """Run the checks and report the results."""

    def tell(check: Check) -> None:
        if not options.json:
            print(check.line, flush=True)

    checks = Checks(tell)
    examine(checks)
    if options.json:
        print_json({"ok": checks.is_ok, "checks": [check.to_dict() for check in checks.done]})
    else:
        print(_summary(checks))
    return 0 if checks.is_ok else 1


def _summary(checks: Checks) -> str:
    if checks.failed:
        return f"does not work: {', '.join(check.name for check in checks.failed)}"
    missing = [check.name for check in checks.missing]
    return f"all required parts work{'; missing: ' + ', '.join(missing) if missing else ''}"


# --- checks -----------------------------------------------------------------------------------------------------------
def examine(checks: Checks) -> None:
    """Run all checks and report each result immediately."""
    _check_python(checks)
    check_packages(checks)
    _check_processor(checks)
    _check_cache(checks)
    _check_kernel(checks)
    _check_gpu(checks)
    _check_real_time(checks)
    _check_ros(checks)
    _check_browser(checks)


def _check_python(checks: Checks) -> None:
    version = platform.python_version()
    needed = ".".join(map(str, OLDEST))
    problem = "" if sys.version_info >= OLDEST else f"Python {needed} or newer is needed"
    checks.judge("Python", problem, f"{version} ({sys.executable}), {platform.system()} {platform.machine()}")
    checks.ok("ada_dynamics", __version__)


def _check_processor(checks: Checks) -> None:
    reason = reason_for_fallback()
    if reason is not None:
        checks.fail("compiler", f"{reason}: {_NO_COMPILER}. pip install 'llvmlite>=0.45', or unset ADA_JIT.")
        return
    host = Target.host()
    fused = "with" if host.fma else "without"
    checks.ok(
        "processor",
        f"{processor()}: compiled for {host.cpu}, {host.vector_bits} bit wide ({host.lanes} states at once), "
        f"{fused} fused multiply-add",
        cpu=host.cpu,
        vector_bits=host.vector_bits,
        fma=host.fma,
    )


def processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _check_cache(checks: Checks) -> None:
    cache = ObjectCache.default()
    if cache.directory is None:
        checks.miss("cache", "none (ADA_CACHE is off, or no home directory): each process compiles its kernels")
        return
    problem = cache.problem()
    if problem:
        checks.miss("cache", f"{cache.directory}: {problem}. Correct it, or set another folder in ADA_CACHE_DIR.")
    else:
        checks.ok("cache", f"{cache.directory}, {cache.size() / 2**20:.1f} MB", bytes=cache.size())


def _check_kernel(checks: Checks) -> None:
    """Compare the unit rhombus of Takahashi 2012, fig. 3.9, with its closed form ψ'' = -(6/5) g sin ψ."""
    from ada_dynamics.dynamics import Dynamics
    from ada_dynamics.robots.mechanisms import four_bar

    begin = time.perf_counter()
    try:
        with without_cache():
            model, q = four_bar()
            found = Dynamics(model).forward(q, np.zeros(model.nv), np.zeros(model.nv))
    except AdaError as problem:
        checks.fail("first kernel", str(problem))
        return
    seconds = time.perf_counter() - begin
    from_down = np.pi - float(q[0])
    wanted = 1.2 * 9.81 * np.sin(from_down)
    off = abs(float(found[0]) - wanted)
    wrong = "" if off < _CLOSED_FORM * wanted else f"{found[0]:.17g} rad/s² instead of {wanted:.17g} (closed form)"
    checks.judge(
        "first kernel", wrong, f"a four-bar linkage in {seconds:.2f} s, error {off:.1e} rad/s²", seconds=seconds
    )


def _check_gpu(checks: Checks) -> None:
    from ada_dynamics.gpu.cuda_driver import Gpu

    try:
        gpu = Gpu(0)
        free = gpu.free_memory() / 2**30
    except AdaError as problem:
        checks.miss("graphics processor", str(problem))
    else:
        checks.ok("graphics processor", f"{gpu.name}, {free:.1f} GB free")


def _check_real_time(checks: Checks) -> None:
    wrong = "; ".join(filter(None, (priority_limit(), memory_limit())))
    if wrong:
        checks.miss("real-time rights", f"control cycles of devices: {wrong}")
    else:
        checks.ok("real-time rights", "thread priority and locked memory are permitted")


def _check_ros(checks: Checks) -> None:
    problem = ros_problem()
    if problem is not None:
        checks.miss("ROS 2", problem)
        return
    wheel = wheels_version()
    came = f"rclpy {wheel} from PyPI" if wheel else f"{os.environ.get('ROS_DISTRO', 'sourced')}"
    lacking = [name for name in ("tf2_msgs", "launch") if importlib.util.find_spec(name) is None]
    more = f", without {' and '.join(lacking)} (docs/installing.md)" if lacking else ""
    more += "; for /tf: python tools/build_interfaces.py" if "tf2_msgs" in lacking else ""
    checks.ok("ROS 2", f"{came}, domain {os.environ.get('ROS_DOMAIN_ID') or 0}{more}")


def _check_browser(checks: Checks) -> None:
    if has_screen():
        checks.ok("browser", "pages are opened on this display")
    else:
        checks.miss("browser", "no display: use --host 0.0.0.0 and open the printed address on another machine")


def requirements() -> Mapping[str, list[str]]:
    """Required packages by extra, "" for those that are always required; empty if not installed by pip."""
    try:
        lines = requires(PACKAGE) or []
    except PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is not None:
            found.setdefault(match[2] or "", []).append(match[1])
    return found


def _installed(package: str) -> str:
    """Installed version; "" if missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def check_packages(checks: Checks, wanted: Mapping[str, list[str]] | None = None) -> None:
    """Check the required packages, then each extra for users with its features and install command."""
    wanted = requirements() if wanted is None else wanted
    if not wanted:
        checks.leave_out("packages", f"{PACKAGE} was not installed by pip: no package list")
    for name in wanted.get("", []):
        problem = "" if _installed(name) else f"{name} is not installed: pip install {name}"
        checks.judge(name, problem, _installed(name))
    for extra, purpose in PURPOSES.items():
        names = wanted.get(extra, [])
        lacking = [name for name in names if not _installed(name)]
        if lacking:
            words = f"without {', '.join(lacking)}. It provides {purpose}: {how_to_install(extra)}"
            checks.miss(f"extra {extra}", words)
        elif names:
            checks.ok(f"extra {extra}", f"{purpose} ({', '.join(f'{name} {_installed(name)}' for name in names)})")
