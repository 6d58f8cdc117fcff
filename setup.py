# SPDX-License-Identifier: Apache-2.0
"""Packaging for pip and for colcon (build type ament_python).

All metadata stays here: colcon's `--symlink-install` fails on a `[project]` table in pyproject.toml.
"""

import configparser
import os
import runpy
import sys
from pathlib import Path

from setuptools import find_packages, setup

NAME = "ada_dynamics"
DATA_FOLDERS = ("urdf", "config", "launch")


def data_files() -> list[tuple[str, list[str]]]:
    """Everything that lands in share/, below the prefix of pip and of colcon alike.

    One copy serves `ada_dynamics.resources`, `$(find-pkg-share ada_dynamics)` and `package://` addresses of meshes.
    """
    found = [
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ]
    for top in DATA_FOLDERS:
        for folder, folders, files in os.walk(top):
            # Launch files leave byte code beside themselves, editors leave backups.
            folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
            kept = sorted(name for name in files if not name.startswith(".") and not name.endswith("~"))
            if kept:
                found.append((f"share/{NAME}/{Path(folder).as_posix()}", [f"{folder}/{name}" for name in kept]))
    if not IS_FOR_COLCON:  # whose own scripts lie there
        found.append((f"lib/{NAME}", [f"resource/nodes/{name}" for name in NODE_NAMES]))
    return found


# `install` and `develop` are colcon's commands; pip asks for a wheel.
IS_FOR_COLCON = not {"install", "develop"}.isdisjoint(sys.argv[1:])
NODE_NAMES = (
    "controller_node",
    "dynamics_node",
    "hardware_node",
    "loop_state_publisher",
    "oracle_node",
    "target_node",
    "view_node",
)


# Why each of these is here, and what happens without it: docs/dependencies.md.
# MuJoCo 4 needs Python 3.11: Python 3.10 gets the last of its 3.
ORACLE = ["pin>=4,<5", "mujoco>=3.3,<5"]
BENCH = ["pin-pink>=4,<5", "quadprog>=0.1.11,<0.2"]
RECORD = ["mcap>=1.6,<2"]  # its records and readers; 1.6 is the oldest that is tried
# viser 1.1 is the first that lets links be dragged with the mouse.
VIEW = ["viser>=1.1,<2", "websockets>=13,<17", "trimesh>=4,<6", "pycollada>=0.8,<1", "imageio>=2.31,<3"]
# The wheels of ROS 2 exist for this platform only; elsewhere the extra is empty and ROS comes from its own installer.
ROS_WHEELS = "; platform_system == 'Linux' and platform_machine == 'x86_64' and python_version < '3.15'"
ROS = [
    # Jazzy, the oldest supported distribution; this one bound makes pip take every other wheel from it, too.
    "ros-rclpy[fastrtps]>=7.1.6,<8",
    "ros-diagnostic-msgs",
    "ros-geometry-msgs",
    "ros-lifecycle-msgs",
    "ros-rosgraph-msgs",
    "ros-sensor-msgs",
    "ros-std-msgs",
    "ros-std-srvs",
    "ros-trajectory-msgs",
    "ros-visualization-msgs",
]
HARDWARE = ["pyserial>=3.5,<4", *RECORD]  # flight records
# NVIDIA's assembler of code for graphics processors; 12.9 is the last version for Volta to Blackwell.
PTXAS = ["nvidia-cuda-nvcc-cu12>=12.9,<12.10; platform_system == 'Linux' and platform_machine == 'x86_64'"]
TOOLS = ["scipy>=1.11,<2", "matplotlib>=3.8,<4", "imageio-ffmpeg>=0.5,<1", "pillow>=10"]
FRAMEWORKS = {
    "torch": ["torch>=2.2,<3"],
    "jax": ["jax>=0.4.34,<1"],
    "casadi": ["casadi>=3.6,<4"],
    "gym": ["gymnasium>=1.1,<2"],  # 1.1 is the first that says when environments begin anew
}
EXTRAS = {
    "oracle": ORACLE,
    "bench": BENCH,
    "ros": [requirement + ROS_WHEELS for requirement in ROS],
    "xacro": ["xacro>=2.1,<3"],
    "record": RECORD,
    "view": VIEW,
    "hardware": HARDWARE,
    "tools": TOOLS,
    # Other people's frameworks: what `ada_dynamics.torch`, `.jax`, `.casadi` and `.gym` adapt to.
    **FRAMEWORKS,
    "test": [
        # ROS 2's launch_testing, which pytest loads wherever a ROS is sourced, breaks with pytest 9.
        "pytest>=8,<9",
        "pytest-xdist>=3.5,<4",
        "pytest-timeout>=2.3,<3",
        "hypothesis>=6.100,<7",
        "example-robot-data>=6,<7",
        "mcap-ros2-support>=0.5.7,<1",
        "scipy>=1.11,<2",
        "transforms3d>=0.4.2,<0.5",
        *ORACLE,
        *BENCH,
        *RECORD,
        *VIEW,
        # The browser itself, and its driver, come from the system: chromium and chromium-driver on Debian.
        "selenium>=4.15,<5",
        # One notebook runs in a kernel; the others in a plain Python.
        "nbclient>=0.10,<1",
        "ipykernel>=6.29,<8",
        "pillow>=10",
        "dask[distributed]>=2024.8",  # an executor of sweeps; versions are dates, an upper bound would say nothing
        *HARDWARE,
        *FRAMEWORKS["jax"],
        *FRAMEWORKS["casadi"],
        *FRAMEWORKS["gym"],
        *PTXAS,
    ],
    "dev": [
        "ruff>=0.15,<0.18",
        "mypy>=1.15,<3",
        "packaging>=23",
        "build>=1.2,<2",
        "twine>=6,<7",
        "check-jsonschema>=0.29,<1",
        "pip-audit>=2.7,<3",
        # The packaging test builds with these; from 80 on setuptools lacks what `colcon build --symlink-install` calls,
        # before 70.1 it needs the package wheel to build a wheel.
        "setuptools>=70.1,<80",
        "colcon-common-extensions>=0.3,<1",
        "colcon-ros>=0.5,<1",
    ],
    # It has wheels for Linux, up to Python 3.13.
    "fuzz": ["atheris>=3,<4; platform_system == 'Linux' and python_version >= '3.11' and python_version < '3.14'"],
    "mutants": ["cosmic-ray>=8.4,<9"],
    "docs": [
        "sphinx>=7.4,<10",
        "myst-parser>=4,<6",
        "furo>=2024.8",
        "sphinx-design>=0.6,<1",
        "sphinx-copybutton>=0.5.2,<1",
        "sphinx-mathjax-offline>=0.0.2,<1",
    ],
}

# Each is a program of its own; colcon puts it where `ros2 run` and launch files look for it, lib/<package> (setup.cfg).
# pip would put it on everybody's PATH, under a name such as view_node: there lib/<package> gets shell scripts.
NODES = [f"{name} = ada_tools.nodes.executables:{name}" for name in NODE_NAMES]

CLASSIFIERS = [
    "Development Status :: 4 - Beta",
    "Intended Audience :: Developers",
    "Intended Audience :: Education",
    "Intended Audience :: Science/Research",
    "Operating System :: OS Independent",
    "Programming Language :: Python :: 3",
    *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
    "Topic :: Scientific/Engineering :: Physics",
    "Typing :: Typed",
]

README = Path("README.md")
IDENTITY = configparser.ConfigParser()
IDENTITY.read_dict({"identity": {"maintainers": "The ada_dynamics developers", "repository": ""}})
IDENTITY.read("packaging/identity.cfg", encoding="utf-8")
REPOSITORY = IDENTITY["identity"]["repository"]

setup(
    name=NAME,
    version=runpy.run_path(f"{NAME}/_version.py")["__version__"],
    description="Dynamics of robots with chains, trees and closed loops: assembly-disassembly algorithm, ROS 2 nodes",
    long_description=README.read_text(encoding="utf-8") if README.is_file() else "",
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    author=IDENTITY["identity"]["maintainers"],
    project_urls={"Repository": REPOSITORY} if REPOSITORY else {},
    keywords=["robotics", "dynamics", "closed-chain", "multibody", "ROS"],
    classifiers=CLASSIFIERS,
    python_requires=">=3.10",
    packages=find_packages(include=["ada_*"]),
    package_data={
        "": ["py.typed"],
        "ada_dynamics.robots": ["*.json"],
        "ada_dynamics.robots.readers.mjcf": ["*.txt"],
        "ada_dynamics.transmission": ["templates/*.in", "templates/*/*.in"],
    },
    data_files=data_files(),
    zip_safe=False,
    install_requires=[
        "numpy>=1.26,<3",
        # LLVM 20 is the first whose text form has `splat` constants; llvmlite 0.44 still carries LLVM 15.
        # The upper bound: each minor release may carry another LLVM, so a new one is let in after the tests ran on it.
        "llvmlite>=0.45,<0.51",
        # Scenarios, loops of robots and angle maps of servos are YAML files, those that come along too.
        "PyYAML>=6,<7",
    ],
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["ada = ada_tools.cli:main", *(NODES if IS_FOR_COLCON else ())]},
)
