# SPDX-License-Identifier: Apache-2.0
"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import ada_dynamics
from ada_dynamics.jit import Target
from ada_tools.commands.doctor import processor


def describe(pinned: str) -> dict[str, str]:
    """Processor, lanes and versions."""
    target = Target.host()
    found = {
        "processor": processor(),
        "LLVM calls it": f"{target.cpu}, {target.lanes} lanes of float64, {'with' if target.fma else 'without'} FMA",
        "CPUs": f"{os.cpu_count()}, this process {pinned}",
        "load": " ".join(f"{x:.2f}" for x in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "ada_dynamics": ada_dynamics.__version__,
    }
    for package in ("numpy", "llvmlite", "pin", "mujoco"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def available_memory() -> float:
    """Free memory [bytes]; infinite where the system does not say."""
    table = Path("/proc/meminfo")
    if table.is_file():
        for line in table.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024.0
    return float("inf")


def resident_memory() -> float:
    """Memory that this process holds [bytes]; not a number where the system does not say."""
    table = Path("/proc/self/statm")
    if not table.is_file():
        return float("nan")
    return float(table.read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
