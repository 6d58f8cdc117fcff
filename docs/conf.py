# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration: `make docs`."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from makers import command_line, errors, gallery, notebooks, reference, write  # noqa: E402

project = "ada_dynamics"
author = "The ada_dynamics developers"
copyright = f"2026, {author}"
release = runpy.run_path(str(HERE.parent / "ada_dynamics/_version.py"))["__version__"]

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "sphinx-mathjax-offline"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types in signatures need not have an entry of their own,
suppress_warnings = ["ref.python"]  # and may have one in two modules
add_module_names = False
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "static" / "scorer.js")
copybutton_prompt_text = "$ "

# What the code says of itself becomes pages before Sphinx looks for pages.
look_up = {"errors.md": errors.text(), "command_line.md": command_line.text()}
write(HERE / "reference", reference.texts() | look_up)
write(HERE / "gallery", gallery.texts())
write(HERE / "notebooks", notebooks.texts())
