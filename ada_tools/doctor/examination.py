# SPDX-License-Identifier: Apache-2.0
"""One look at a machine: Python, packages, processor, cache, a first kernel, and what is optional around them."""

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
_CLOSED_FORM = 1e-12  # [rad/s²] by which the first kernel may be off: some tens of roundings of numbers around ten
_NO_COMPILER = "kernels run as plain Python: the same answers, slower"


def examine(checks: Checks) -> None:
    """Note all that there is to know, each as soon as it is known."""
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
        checks.miss("cache", "none (ADA_CACHE is off, or there is no home): each program compiles its kernels anew")
        return
    problem = cache.problem()
    if problem:
        checks.miss("cache", f"{cache.directory}: {problem}. Mend it, or name another folder in ADA_CACHE_DIR.")
    else:
        checks.ok("cache", f"{cache.directory}, {cache.size() / 2**20:.1f} MB", bytes=cache.size())


def _check_kernel(checks: Checks) -> None:
    """The unit rhombus of Takahashi 2012, fig. 3.9, against its closed form ψ'' = -(6/5) g sin ψ."""
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
    wrong = "" if off < _CLOSED_FORM * wanted else f"{found[0]:.17g} rad/s² where the closed form has {wanted:.17g}"
    checks.judge("first kernel", wrong, f"a four-bar linkage in {seconds:.2f} s, {off:.1e} rad/s² off", seconds=seconds)


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
    """Asked of a thread that ends at once, so that this process stays as it is."""
    problems: list[str] = []
    thread = threading.Thread(target=lambda: problems.append(set_realtime_priority(1)))
    thread.start()
    thread.join()
    problems.append(memory_limit())
    wrong = "; ".join(filter(None, problems))
    if wrong:
        checks.miss("real-time rights", f"cycles of devices get {wrong}")
    else:
        checks.ok("real-time rights", "priority of threads and locked memory are allowed")


def _check_ros(checks: Checks) -> None:
    problem = ros_problem()
    if problem is not None:
        checks.miss("ROS 2", problem)
        return
    wheel = wheels_version()
    came = f"rclpy {wheel} from PyPI" if wheel else f"{os.environ.get('ROS_DISTRO', 'sourced')}"
    lacking = [name for name in ("tf2_msgs", "launch") if importlib.util.find_spec(name) is None]
    more = f", without {' and '.join(lacking)} (docs/installing.md)" if lacking else ""
    checks.ok("ROS 2", f"{came}, domain {os.environ.get('ROS_DOMAIN_ID') or 0}{more}")


def _check_browser(checks: Checks) -> None:
    if not has_screen():
        checks.miss("browser", "no screen here: open the printed address elsewhere, with --host 0.0.0.0 on the command")
        return
    try:
        name = webbrowser.get().name
    except (webbrowser.Error, AttributeError):
        name = ""
    if name or sys.platform in ("darwin", "win32"):
        checks.ok("browser", name or "the system's own")
    else:
        checks.miss("browser", "none is found: install one, or open the printed address by hand")
