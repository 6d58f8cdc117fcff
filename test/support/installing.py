# SPDX-License-Identifier: Apache-2.0
"""Wheels of copies of the checkout, and environments to install them into."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from paths import ROOT

PACKAGES = ("ada_dynamics", "ada_robot", "ada_controllers", "ada_hardware", "ada_tools")
FILES = ("setup.py", "setup.cfg", "pyproject.toml", "package.xml", "LICENSE", "resource")


def run(*command, **options):
    return run_to_end(*command, **options).stdout


def run_to_end(*command, code=0, **options):
    # A Python that imports rclpy from wheels leaves marks that break any other environment's Python.
    environment = {k: v for k, v in os.environ.items() if k not in ("_ROS_WHEELS_BOOTSTRAP_COMPLETE", "PYTHONPATH")}
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=300, check=False, env=environment, **options
    )
    assert result.returncode == code, f"{command}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result


def copy_of(folder, *more):
    """A copy of the packages, and of more: building leaves files behind."""
    folder.mkdir()
    for path in (ROOT / name for name in (*FILES, *PACKAGES, *more)):
        if path.is_dir():
            shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.exists():
            shutil.copy(path, folder)
    return folder


def new_environment(folder):
    """Python of a new virtual environment: the dependencies of this one, borrowed, but not this one's ada_dynamics."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv/bin/python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    Path(site, "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return python


def pip(environment, *arguments):
    run(sys.executable, "-m", "pip", "--python", environment, "install", "--no-index", "--no-deps", *arguments)


def build_wheel(source):
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", source.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")  # of all files in it, as a release has them
        run(sys.executable, "-m", "pip", "wheel", *options, source)
    (wheel,) = source.parent.glob("*.whl")
    return wheel
