# SPDX-License-Identifier: Apache-2.0
"""A pinocchio that is missing, fails in its import, or is another package is an error that names the remedy."""

import sys

import pytest
from refused import refused

from ada_dynamics.errors import InputError
from ada_tools.nodes.oracle import pinocchio


@pytest.mark.parametrize("text", ["raise AttributeError('_ARRAY_API not found')", "import nose_", "x = 1"])
def test_a_pinocchio_that_is_no_dynamics_library_is_refused_whatever_its_import_raises(text, tmp_path, monkeypatch):
    (tmp_path / "pinocchio.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "pinocchio"]:
        monkeypatch.delitem(sys.modules, name)
    with refused(InputError, field="pinocchio"):
        pinocchio()
    sys.modules.pop("pinocchio", None)
