# SPDX-License-Identifier: Apache-2.0
"""Catalogue of the robots of this distribution.

Each robot is a plain URDF, which loads without the packages xacro and PyYAML. `python -m ada_dynamics.robots.catalogue`
generates the URDFs from xacro files (with files of loops in config/) or from functions of `mechanisms`. The catalogue
adds data that URDF lacks: joint between world and root link, gravity, and start configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import STANDARD_GRAVITY, Model, link_poses
from ada_dynamics.robots.readers import read_document
from ada_dynamics.robots.readers.xacro import expand_xacro
from ada_dynamics.structured_text.files import read_file

if TYPE_CHECKING:
    from ada_dynamics.robots.mechanisms import Mechanism


_NO_ARGUMENTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class CatalogueEntry:
    """A robot of the catalogue.

    Attributes:
        name: name of the robot.
        summary: one line on the robot.
        xacro: xacro file of the robot; None for a function of its name in `mechanisms`.
        arguments: arguments of the xacro file.
        loops: file in config/ with loop joints.
        base: joint between world and root link.
        gravity: gravity [m/s²]; None for the standard one.
        start: start configuration by joint: an angle [deg], or positions as in q of joints with several coordinates.
        stands_on: links of which the lowest frame is on the ground at the start.
    """

    name: str
    summary: str
    xacro: str | None = None
    arguments: Mapping[str, str] = field(default_factory=lambda: _NO_ARGUMENTS)
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

    def expand(self, arguments: Mapping[str, object] = _NO_ARGUMENTS) -> str:
        """Return the URDF of the xacro file with its loops; needs the package xacro, and PyYAML for loops."""
        text = expand_xacro(self.xacro_path, {**self.arguments, **arguments})
        text = re.sub(r"<!-- (?:=+|\|.*\|) -->\n", "", text)  # remove xacro's banner, which contains a path
        text = re.sub(r'<robot name="[^"]*"', f'<robot name="{self.name}"', text, count=1)
        if self.loops is None:
            return text
        robot = read_document(text, "expanded xacro file", loops=resources.find("config", self.loops))
        return _render(robot.build(source=text))

    def model(self) -> Model:
        """Build the model from the plain URDF."""
        text = read_file(self.path)
        robot = read_document(text, self.path.name)
        return robot.build(self.base, self.gravity or STANDARD_GRAVITY, text.decode("utf-8"))

    def mechanism(self) -> Mechanism:
        """Return the model of a mechanism with loops and a configuration that closes them."""
        from ada_dynamics.robots import mechanisms  # takes 20 ms, which most robots do not need

        if self.xacro is not None:
            raise InputError(f"{self.name} is not a mechanism with loops; use a function of `mechanisms`.")
        made: Mechanism = getattr(mechanisms, self.name)()
        return made

    def text(self) -> str:
        """Generate the content of the plain URDF."""
        if self.xacro is not None:
            return self.expand()
        from ada_dynamics.model.default_shapes import with_default_shapes
        from ada_dynamics.model.edit.joints import split_universals

        model = self.mechanism().model
        has_looks = any(link.visuals for link in model.links.values())
        # Other readers of URDF lack universal joints.
        return _render(split_universals(model) if has_looks else with_default_shapes(model))


def _render(model: Model) -> str:
    """Return a URDF with loops as <loop_joint>."""
    from ada_dynamics.robots.writers import render

    (text,) = render(model, "loop_joint").texts.values()
    return text


# Awa 2009, table 5, by config/khr1_angle_map.yaml: thighs 25 deg forward, shanks upright, soles flat, legs 2 deg apart.
_KHR1_HOME = {
    f"{side}_{joint}": angle * (sign if joint.endswith("roll") else 1.0)
    for side, sign in (("left", 1.0), ("right", -1.0))
    for joint, angle in (("hip_roll", 2.0), ("hip_pitch", -25.0), ("knee", 25.0), ("ankle_roll", -2.0))
}
_RHOMBUS = {"joint_1": 135.0, "joint_2": -45.0, "joint_3": 225.0}
_IN_SPACE: Mapping[str, Any] = {"base": "floating", "gravity": (0.0, 0.0, 0.0)}
_HUMANOID: Mapping[str, Any] = {"base": "floating", "stands_on": ("left_sole", "right_sole")}

_ENTRIES = (
    CatalogueEntry(
        "pa10", "Mitsubishi PA10-7CE, 7 joints; plausible inertia tensors, rotor inertia", "pa10.urdf.xacro"
    ),
    CatalogueEntry("pa10_7c", "Mitsubishi PA-10-7C (the older arm), the same", "pa10.urdf.xacro", {"lengths": "7c"}),
    CatalogueEntry(
        "pa10_thesis",
        "PA-10-7C as in Takahashi 2012, sec. 5.3: every inertia diag(1, 1, 1), no rotor inertia",
        "pa10.urdf.xacro",
        {"lengths": "7c", "inertia": "thesis"},
        start={"s2": 45.0, "s3": 10.0},  # table 5.2
    ),
    CatalogueEntry(
        "planar_3r", "three rods in a row (Takahashi 2012, fig. 3.1)", "planar_3r.urdf.xacro", start=_RHOMBUS
    ),
    CatalogueEntry(
        "branch_5r",
        "rods that branch (Takahashi 2012, fig. 3.5; four of them, as in its text)",
        "branch_5r.urdf.xacro",
        start={"joint_1": 0.0, "joint_2": 0.0, "joint_3": 90.0, "joint_4": 90.0},
    ),
    CatalogueEntry(
        "closed_4r",
        "three rods between two pivots, the unit rhombus (Takahashi 2012, fig. 3.9)",
        "closed_4r.urdf.xacro",
        loops="closed_4r.loops.yaml",
        start=_RHOMBUS,
    ),
    CatalogueEntry(
        "floating_rod",
        "a free rod without gravity, quaternion (Takahashi 2012, fig. 3.19)",
        "floating_rod.urdf.xacro",
        start={},
        **_IN_SPACE,
    ),
    CatalogueEntry(
        "floating_rod_euler",
        "the same with z-y-x Euler angles, which are singular at 90 deg",
        "floating_rod.urdf.xacro",
        start={},
        **{**_IN_SPACE, "base": "floating_euler"},
    ),
    CatalogueEntry(
        "planar_7r", "seven rods in a row (Takahashi 2012, sec. 4.4.1)", "planar_7r.urdf.xacro", start={"joint_1": 90.0}
    ),
    CatalogueEntry(
        "planar_4r",
        "four rods in a row, the last one half as long (Takahashi 2012, fig. 7.2)",
        "planar_4r.urdf.xacro",
        start={"joint_1": 60.0, "joint_2": 30.0, "joint_3": 150.0, "joint_4": -60.0},
    ),
    CatalogueEntry(
        "floating_6",
        "six rods in space without gravity, floating (Takahashi 2012, fig. 4.8)",
        "floating_6.urdf.xacro",
        start={"joint_2": 90.0, "joint_4": 90.0},  # table 4.1
        **_IN_SPACE,
    ),
    CatalogueEntry(
        "khr1",
        "Kondo KHR-1, humanoid of 17 joints, floating; lengths and masses partly estimated",
        "khr1.urdf.xacro",
        start=_KHR1_HOME,
        **_HUMANOID,
    ),
    CatalogueEntry(
        "hoap2", "Fujitsu HOAP-2, humanoid of 25 joints, floating", "hoap2.urdf.xacro", start={}, **_HUMANOID
    ),
    CatalogueEntry(
        "hoap2_10dof",
        "HOAP-2 with hips and ankles only (Takahashi 2012, fig. 6.5), floating",
        "hoap2.urdf.xacro",
        {"joints": "10"},
        start={},
        **_HUMANOID,
    ),
    CatalogueEntry(
        "space_robot_a",
        "free-flying robot of five bodies, links of 10 kg (Tarao et al., robot 1); no gravity",
        "space_robot.urdf.xacro",
        start={},
        **_IN_SPACE,
    ),
    CatalogueEntry(
        "space_robot_b",
        "the same with links of 1 kg (Tarao et al., robot 2); no gravity",
        "space_robot.urdf.xacro",
        {"link_mass": "1.0", "color": "0.80 0.45 0.20 1"},
        start={},
        **_IN_SPACE,
    ),
    CatalogueEntry("four_bar", "planar four-bar linkage: the unit rhombus of Takahashi 2012, fig. 3.9"),
    CatalogueEntry("slider_crank", "crank, rod and a slider on a guide"),
    CatalogueEntry("five_bar", "two cranks whose rods meet at a tip: two motors, two motions"),
    CatalogueEntry("watt_six_bar", "Watt's six-bar linkage: two loops, one between moving links"),
    CatalogueEntry("stephenson_six_bar", "Stephenson's six-bar linkage"),
    CatalogueEntry("bennett", "Bennett's linkage: moves although its loop has three redundant constraints"),
    CatalogueEntry("spherical_four_bar", "spherical four-bar: axes through one point, three redundant constraints"),
    CatalogueEntry("parallel_gripper", "two parallelogram fingers, geared to each other"),
    CatalogueEntry("delta", "DELTA robot: three cranks, six rods, a plate that does not turn"),
    CatalogueEntry("hexa", "HEXA robot: six cranks, six rods (6-RUS)"),
    CatalogueEntry("stewart", "Gough-Stewart platform: six telescopic legs (6-UPS)"),
    CatalogueEntry("cassie_leg", "leg with two rod loops and two leaf springs, after Cassie"),
    CatalogueEntry(
        "hoap2_standing", "HOAP-2 with hips and ankles, both feet fixed to the ground (Takahashi 2012, 6.3)"
    ),
    CatalogueEntry("hoap2_reaching", "the same with its left arm raised and bent by 60 deg (fig. 6.5 b)"),
)
CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})


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
    if name not in CATALOGUE:
        raise unknown_name("robot of the catalogue", name, CATALOGUE)
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
    if one.xacro is None:
        q = one.mechanism().q
        return q if model is None or model.nq == len(q) else None
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
    """Write the plain URDFs into the folder of the xacro files and its folder `mechanisms`."""
    folder = resources.find("urdf", "pa10.urdf.xacro").parent
    written = []
    for one in CATALOGUE.values():
        path = folder / one.file
        path.parent.mkdir(exist_ok=True)
        path.write_text(one.text(), encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    for made in make_plain_files():
        print(made)
