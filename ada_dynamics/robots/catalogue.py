# SPDX-License-Identifier: Apache-2.0
"""Catalogue of the robots of this distribution, whose table is `catalogue.json`.

Each robot is a plain URDF, which loads without the packages xacro and PyYAML. `python -m ada_dynamics.robots.catalogue`
generates those of robots with a xacro file (and a file of loops in config/); the folder `mechanisms` has the others.
The catalogue adds data that URDF lacks: joint between world and root link, gravity, and start configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.errors import InputError, check_name
from ada_dynamics.model.model import STANDARD_GRAVITY, Model, link_poses
from ada_dynamics.robots.readers import read_document
from ada_dynamics.robots.readers.xacro import expand_xacro
from ada_dynamics.structured_text.files import read_file


@dataclass(frozen=True)
class CatalogueEntry:
    """A robot of the catalogue.

    Attributes:
        name: name of the robot.
        group: kind of the robot, such as "arms", which `ada list` prints together.
        summary: one line on the robot.
        xacro: xacro file from which the URDF is generated; None for the mechanisms with loops.
        arguments: arguments of the xacro file.
        loops: file in config/ with loop joints.
        base: joint between world and root link.
        gravity: gravity [m/s²]; None for the standard one.
        start: start configuration by joint: an angle [deg], or positions as in q of joints with several coordinates.
            Those of khr1 are from Awa 2009, table 5, of others from Takahashi 2012, figs. 3.5, 3.9, tables 4.1, 5.2.
        stands_on: links of which the lowest frame is on the ground at the start.
    """

    name: str
    group: str
    summary: str
    xacro: str | None = None
    arguments: Mapping[str, str] | None = None
    loops: str | None = None
    base: str = "fixed"
    gravity: tuple[float, float, float] | None = None
    start: Mapping[str, float | Sequence[float]] | None = None
    stands_on: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The plain URDF."""
        return resources.find("urdf", self.file)

    @property
    def file(self) -> str:
        """File name in the folder of the URDFs."""
        return f"mechanisms/{self.name}.urdf" if self.xacro is None else f"{self.name}.urdf"

    @property
    def xacro_path(self) -> Path:
        """The xacro file."""
        if self.xacro is None:
            raise InputError(f"{self.name} is not made from a xacro file and has no arguments; omit mappings.")
        return resources.find("urdf", self.xacro)

    def expand(self, arguments: Mapping[str, object] | None = None) -> str:
        """Return the URDF of the xacro file with its loops; needs the package xacro, and PyYAML for loops."""
        text = expand_xacro(self.xacro_path, {**(self.arguments or {}), **(arguments or {})})
        text = re.sub(r"<!-- (?:=+|\|.*\|) -->\n", "", text)  # remove xacro's banner, which contains a path
        text = re.sub(r'<robot name="[^"]*"', f'<robot name="{self.name}"', text, count=1)
        if self.loops is None:
            return text
        from ada_dynamics.robots.writers import render

        robot = read_document(text, "expanded xacro file", loops=resources.find("config", self.loops))
        (text,) = render(robot.build(source=text), "loop_joint").texts.values()
        return text

    def model(self) -> Model:
        """Build the model from the plain URDF."""
        text = read_file(self.path)
        robot = read_document(text, self.path.name)
        return robot.build(self.base, self.gravity or STANDARD_GRAVITY, text.decode("utf-8"))


def _entries() -> dict[str, CatalogueEntry]:
    """Read the table of robots."""
    table = json.loads(Path(__file__).with_name("catalogue.json").read_text(encoding="utf-8"))
    entries = {}
    for name, values in table.items():
        lists_as_tuples: dict[str, Any] = {key: tuple(x) if isinstance(x, list) else x for key, x in values.items()}
        entries[name] = CatalogueEntry(name, **lists_as_tuples)
    return entries


CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType(_entries())


class RobotList(NotebookDisplay, dict[str, str]):
    """Names of the catalogue with a one-line summary of each robot."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:{width}}  {summary}" for name, summary in self.items())


def robots() -> RobotList:
    """Return the robots of the catalogue with a one-line summary; also available as `ada.robots()`."""
    return RobotList((one.name, one.summary) for one in CATALOGUE.values())


def entry(name: str) -> CatalogueEntry:
    """Return a robot of the catalogue.

    Raises:
        InputError: the name is unknown; the message lists the known ones.
    """
    check_name("robot of the catalogue", name, CATALOGUE)
    return CATALOGUE[name]


def start_of(source: object, model: Model | None = None) -> Array | None:
    """Return the start configuration of a robot of the catalogue, with closed loops.

    Args:
        source: source of `load`; only catalogue names have a start configuration.
        model: the loaded model, if it was loaded with another base or with arguments.

    Returns:
        The configuration q, or None if the source or model has none.
    """
    if not isinstance(source, str) or source not in CATALOGUE:
        return None
    one = CATALOGUE[source]
    if one.start is None:
        return None
    model = one.model() if model is None else model
    q = model.neutral()
    for joint, own in one.start.items():
        if joint in model.joint_names:
            q[model.q_index(joint)] = np.radians(own) if np.ndim(own) == 0 else own
    if one.stands_on and model.floating_joint:
        poses = link_poses(model, q)
        q[model.q_index(model.floating_joint)][2] -= min(float(poses[link][1][2]) for link in one.stands_on)
    return q


def make_plain_files() -> list[Path]:
    """Write the plain URDFs into the folder of the xacro files."""
    written = []
    for one in CATALOGUE.values():
        if one.xacro is not None:
            path = one.xacro_path.parent / one.file
            path.write_text(one.expand(), encoding="utf-8")
            written.append(path)
    return written


if __name__ == "__main__":
    for made in make_plain_files():
        print(made)
