# SPDX-License-Identifier: Apache-2.0
"""The robots that come with the library, by name.

Each is a plain URDF, so that it loads without the package xacro; those made from a xacro file are made anew by
`python -m ada_dynamics.model.catalogue`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ada_dynamics import resources
from ada_dynamics.errors import unknown_name
from ada_dynamics.model.readers.xacro import expand_xacro

_NO_ARGUMENTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Entry:
    """One robot of the catalogue."""

    name: str
    summary: str
    xacro: str  # file that it is made from
    arguments: Mapping[str, str] = field(default_factory=lambda: _NO_ARGUMENTS)  # given to that file

    @property
    def path(self) -> Path:
        """The plain URDF."""
        return resources.find("urdf", f"{self.name}.urdf")

    @property
    def xacro_path(self) -> Path:
        """The file that it is made from."""
        return resources.find("urdf", self.xacro)

    def expand(self, arguments: Mapping[str, object] = _NO_ARGUMENTS) -> str:
        """URDF text from the xacro file; needs the package xacro."""
        text = expand_xacro(self.xacro_path, {**self.arguments, **arguments})
        text = re.sub(r"<!-- (?:=+|\|.*\|) -->\n", "", text)  # without xacro's banner, which names a path
        return re.sub(r'<robot name="[^"]*"', f'<robot name="{self.name}"', text, count=1)


_ENTRIES = (
    Entry("pa10", "Mitsubishi PA10-7CE, 7 joints; plausible inertia tensors, rotor inertia", "pa10.urdf.xacro"),
    Entry("pa10_7c", "Mitsubishi PA-10-7C (the older arm), the same", "pa10.urdf.xacro", {"lengths": "7c"}),
    Entry(
        "pa10_thesis",
        "PA-10-7C as in Takahashi 2012, sec. 5.3: every inertia diag(1, 1, 1), no rotor inertia",
        "pa10.urdf.xacro",
        {"lengths": "7c", "inertia": "thesis"},
    ),
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


def make_plain_files() -> list[Path]:
    """Write the plain URDFs anew from their xacro files, beside them."""
    written = []
    for one in CATALOGUE.values():
        path = one.xacro_path.with_name(f"{one.name}.urdf")
        path.write_text(one.expand(), encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    for made in make_plain_files():
        print(made)
