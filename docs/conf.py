# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration: `make docs`."""

import runpy
from pathlib import Path

project = "ada_dynamics"
author = "The ada_dynamics developers"
copyright = f"2026, {author}"
release = runpy.run_path(str(Path(__file__).parents[1] / "ada_dynamics/_version.py"))["__version__"]

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nitpicky = True

html_theme = "furo"
html_title = f"{project} {release}"
