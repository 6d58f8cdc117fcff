# SPDX-License-Identifier: Apache-2.0
"""Checks of an installation: Python, packages, processor, cache, first kernel, and optional parts."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import threading
import time
import webbrowser

import numpy as np

from ada_dynamics._version import __version__
from ada_dynamics.errors import AdaError
from ada_dynamics.jit.cache import ObjectCache, without_cache
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.target import Target
from ada_hardware.self_test.checks import Checks
from ada_robot.ros.environment import ros_problem, wheels_version
from ada_robot.timing.realtime import memory_limit, set_realtime_priority
from ada_tools.browser.page import has_screen
from ada_tools.doctor.packages import check_packages
from ada_tools.scenario.machine import processor

OLDEST = (3, 10)
_CLOSED_FORM = 1e-12  # [rad/s²] tolerance of the first kernel: a few roundings at values around ten
_NO_COMPILER = "kernels run in plain Python, with the same results but slower"


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
    """Tested in a temporary thread, so that the settings of this process do not change."""
    problems: list[str] = []
    thread = threading.Thread(target=lambda: problems.append(set_realtime_priority(1)))
    thread.start()
    thread.join()
    problems.append(memory_limit())
    wrong = "; ".join(filter(None, problems))
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
    more += "; for /tf: python -m ada_robot.interfaces" if "tf2_msgs" in lacking else ""
    checks.ok("ROS 2", f"{came}, domain {os.environ.get('ROS_DOMAIN_ID') or 0}{more}")


def _check_browser(checks: Checks) -> None:
    if not has_screen():
        checks.miss("browser", "no display: use --host 0.0.0.0 and open the printed address on another machine")
        return
    try:
        name = webbrowser.get().name
    except (webbrowser.Error, AttributeError):
        name = ""
    if name or sys.platform in ("darwin", "win32"):
        checks.ok("browser", name or "system default")
    else:
        checks.miss("browser", "not found: install one, or open the printed address manually")
