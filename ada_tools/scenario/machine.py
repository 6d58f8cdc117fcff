# SPDX-License-Identifier: Apache-2.0
"""Machine and package versions, for reports."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ada_dynamics._version import __version__

_PACKAGES = ("numpy", "llvmlite", "scipy", "matplotlib", "pin", "mujoco")


def facts() -> list[tuple[str, str]]:
    """Names and values; missing packages are omitted."""
    return [
        ("ada_dynamics", __version__),
        ("Python", platform.python_version()),
        *((name, installed) for name in _PACKAGES if (installed := _version(name))),
        ("processor", processor()),
        ("cores in use", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("date", time.strftime("%Y-%m-%d %H:%M %Z")),
    ]


def processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
