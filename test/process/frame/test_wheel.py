# SPDX-License-Identifier: Apache-2.0
"""A wheel of the checkout, installed into an empty environment that borrows the dependencies of this one."""

import pytest
from installing import build_wheel, copy_of, new_environment, pip, run


@pytest.mark.smoke
def test_the_wheel_alone_lists_its_robots(tmp_path):
    python = new_environment(tmp_path)
    pip(python, build_wheel(copy_of(tmp_path / "source")))
    assert "pa10" in run(python.parent / "ada", "list", cwd=tmp_path)
    found = run(python, "-c", "import ada_dynamics; print(ada_dynamics.__file__)", cwd=tmp_path)
    assert found.startswith(str(tmp_path / "venv"))
