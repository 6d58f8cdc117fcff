# SPDX-License-Identifier: Apache-2.0
"""Written files, read by their own reader and by the engine of their format."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import ada_dynamics as ada
from ada_dynamics.robots.writers import SPELLINGS, Inexpressible, write

ENDINGS = {"mjcf": ".xml", "sdf": ".sdf"}


def refusals(name: str, folder: Path, processes: bool = False) -> dict[str, str]:
    """What readers say against the files of a robot; spellings that cannot express it are left out.

    Args:
        name: of the robot in the catalogue.
        folder: where files are written.
        processes: True to ask check_urdf, too, where it is installed.
    """
    import mujoco

    found: dict[str, str] = {}
    model = ada.load(name)
    base = "floating" if model.floating_joint == "root_joint" else None
    for spelling in SPELLINGS:
        try:
            files = write(model, folder / f"{name}_{spelling}{ENDINGS.get(spelling, '.urdf')}", spelling)
        except Inexpressible:
            continue
        try:
            own_base = None if spelling == "mjcf" else base
            back = ada.load(files[0], own_base, loops=files[1] if len(files) > 1 else None)
            if back.loop_names != model.loop_names or back.nv != model.nv:
                found[f"{spelling}, ada"] = f"{back.nv} velocities, loops {back.loop_names}"
            if spelling == "mjcf":
                mujoco.MjModel.from_xml_path(str(files[0]))
        except (ada.AdaError, ValueError) as problem:
            found[spelling] = str(problem)
        checker = shutil.which("check_urdf") if processes and files[0].suffix == ".urdf" else None
        if checker:
            done = subprocess.run([checker, files[0]], capture_output=True, text=True)
            if done.returncode:
                found[f"{spelling}, urdfdom"] = done.stdout + done.stderr
    return found
