# SPDX-License-Identifier: Apache-2.0
"""The map of the house names what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


FILES = ["/" + path.relative_to(ROOT).as_posix() for path in ROOT.glob("ada_*/**/*.py")]


@pytest.mark.parametrize("place", sorted(set(re.findall(r"`([\w/]+\.py)`", TEXT))))
def test_the_files_of_the_map_are_there(place):
    assert (ROOT / place).exists() or any(file.endswith(f"/{place}") for file in FILES)


@pytest.mark.parametrize("package", ["ada_dynamics", "ada_robot"])
def test_every_room_is_on_the_map(package):
    rooms = [path.parent.name for path in (ROOT / package).glob("*/__init__.py")]
    missing = [room for room in rooms if f"`{room}/`" not in TEXT]
    assert not missing
