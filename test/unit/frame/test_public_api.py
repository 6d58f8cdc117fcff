# SPDX-License-Identifier: Apache-2.0
"""A change of the public API is deliberate: tools/public_api.txt lists all names and signatures."""

import runpy
from pathlib import Path

import ada_dynamics as ada

TOOL = Path(__file__).parents[3] / "tools/public_api.py"


def test_names_and_signatures_are_those_of_the_list():
    expected = TOOL.with_suffix(".txt").read_text(encoding="utf-8")
    assert runpy.run_path(str(TOOL))["public_api"]() == expected, "run python tools/public_api.py --write"


def test_the_package_shows_public_names_only():
    assert dir(ada) == sorted(ada.__all__)


def test_subpackages_are_imported_on_first_use():
    assert ada.simulation.Simulation is ada.Simulation
    assert not hasattr(ada, "no_such_subpackage")
