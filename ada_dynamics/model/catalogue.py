# SPDX-License-Identifier: Apache-2.0
"""The robots that come with the library, by name.

Each is a plain URDF, so that it loads without the package xacro; those made from a xacro file, or in code as the
mechanisms with loops are, are made anew by `python -m ada_dynamics.model.catalogue`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ada_dynamics import resources
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.readers.xacro import expand_xacro

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ada_dynamics.model.mechanisms import Mechanism

_NO_ARGUMENTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Entry:
    """One robot of the catalogue."""

    name: str
    summary: str
    xacro: str | None = None  # file that it is made from; else it is made by the function of its name in `mechanisms`
    arguments: Mapping[str, str] = field(default_factory=lambda: _NO_ARGUMENTS)  # given to that file

    @property
    def path(self) -> Path:
        """The plain URDF."""
        return resources.find("urdf", self.file)

    @property
    def file(self) -> str:
        """Its name in the folder of the URDFs."""
        return f"mechanisms/{self.name}.urdf" if self.xacro is None else f"{self.name}.urdf"

    @property
    def xacro_path(self) -> Path:
        """The file that it is made from."""
        if self.xacro is None:
            raise InputError(f"{self.name} is not made from a xacro file, so there are no arguments to give.")
        return resources.find("urdf", self.xacro)

    def expand(self, arguments: Mapping[str, object] = _NO_ARGUMENTS) -> str:
        """URDF text from the xacro file; needs the package xacro."""
        text = expand_xacro(self.xacro_path, {**self.arguments, **arguments})
        text = re.sub(r"<!-- (?:=+|\|.*\|) -->\n", "", text)  # without xacro's banner, which names a path
        return re.sub(r'<robot name="[^"]*"', f'<robot name="{self.name}"', text, count=1)

    def mechanism(self) -> Mechanism:
        """The mechanism with loops that it is, and a pose that closes them."""
        from ada_dynamics.model import mechanisms  # an import of some 20 ms, which most robots do not need

        if self.xacro is not None:
            raise InputError(f"{self.name} has no loops; the mechanisms that have are those of `mechanisms`.")
        made: Mechanism = getattr(mechanisms, self.name)()
        return made

    def text(self) -> str:
        """The content that the plain URDF should have."""
        if self.xacro is not None:
            return self.expand()
        from ada_dynamics.model.writers import render

        (text,) = render(self.mechanism().model, "loop_joint").texts.values()
        return text


_ENTRIES = (
    Entry("pa10", "Mitsubishi PA10-7CE, 7 joints; plausible inertia tensors, rotor inertia", "pa10.urdf.xacro"),
    Entry("pa10_7c", "Mitsubishi PA-10-7C (the older arm), the same", "pa10.urdf.xacro", {"lengths": "7c"}),
    Entry(
        "pa10_thesis",
        "PA-10-7C as in Takahashi 2012, sec. 5.3: every inertia diag(1, 1, 1), no rotor inertia",
        "pa10.urdf.xacro",
        {"lengths": "7c", "inertia": "thesis"},
    ),
    Entry("four_bar", "planar four-bar linkage: the unit rhombus of Takahashi 2012, fig. 3.9"),
    Entry("slider_crank", "crank, rod and a slider on a guide"),
    Entry("five_bar", "two cranks whose rods meet at a tip: two motors, two motions"),
    Entry("watt_six_bar", "Watt's six-bar linkage: two loops, one between moving links"),
    Entry("stephenson_six_bar", "Stephenson's six-bar linkage"),
    Entry("bennett", "Bennett's linkage: moves although its loop has three redundant conditions"),
    Entry("parallel_gripper", "two parallelogram fingers, geared to each other"),
    Entry("delta", "DELTA robot: three cranks, six rods, a plate that does not turn"),
    Entry("hexa", "HEXA robot: six cranks, six rods (6-RUS)"),
    Entry("stewart", "Gough-Stewart platform: six telescopic legs (6-UPS)"),
    Entry("cassie_leg", "leg with two rod loops and two leaf springs, after Cassie"),
)
CATALOGUE: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})


def entry(name: str) -> Entry:
    """The robot of that name.

    Raises:
        InputError: there is none; the message lists the known ones.
    """
    if name not in CATALOGUE:
        raise unknown_name("robot of the catalogue", name, CATALOGUE)
    return CATALOGUE[name]


def start_of_mechanism(source: object) -> NDArray[np.float64] | None:
    """A pose that closes the loops, if a source is the name of a mechanism of the catalogue."""
    if not isinstance(source, str) or source not in CATALOGUE or CATALOGUE[source].xacro is not None:
        return None
    return CATALOGUE[source].mechanism().q


def make_plain_files() -> list[Path]:
    """Write the plain URDFs anew, beside their xacro files and in the folder `mechanisms`."""
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
