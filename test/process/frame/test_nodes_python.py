# SPDX-License-Identifier: Apache-2.0
"""Whether the browser view is there is asked of the Python on which the installed nodes run."""

import sys

import pytest

from ada_tools.bringup import Machine


@pytest.mark.parametrize("has_viser", [True, False])
def test_the_view_is_sought_in_the_python_that_the_installed_nodes_run_on(tmp_path, monkeypatch, has_viser):
    # as colcon installs them: the nodes' first line names the environment that they were built in
    python = tmp_path / "environment" / "python"
    python.parent.mkdir()
    modules = tmp_path / "modules"
    (modules / "viser").mkdir(parents=True)
    (modules / "viser" / "__init__.py").touch()
    path = f"PYTHONPATH={modules} " if has_viser else ""
    python.write_text(f'#!/bin/sh\nexec env {path}{sys.executable} {"" if has_viser else "-S -I"} "$@"\n')
    python.chmod(0o755)
    node = tmp_path / "prefix" / "lib" / "ada_dynamics" / "view_node"
    node.parent.mkdir(parents=True)
    node.write_text(f"#!{python}\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if has_viser else object())  # of this Python
    assert Machine.of_nodes().has_viser is has_viser


def test_nodes_that_run_on_this_very_python_are_not_asked_by_another_process(tmp_path, monkeypatch):
    node = tmp_path / "lib" / "ada_dynamics" / "view_node"
    node.parent.mkdir(parents=True)
    node.write_text(f"#!{sys.executable}\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'other'}:{tmp_path}")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("a process was started"))
    for found in (None, object()):
        monkeypatch.setattr("importlib.util.find_spec", lambda name, found=found: found)
        assert Machine.of_nodes().has_viser is (found is not None)


@pytest.mark.parametrize("text", ["#!/no/such/python\n", "#!/bin/sh\nexec sleep 60\n"])
def test_a_python_that_gives_no_answer_has_no_view_and_is_not_waited_for(tmp_path, monkeypatch, text):
    python = tmp_path / "python"
    python.write_text(text)
    python.chmod(0o755)
    node = tmp_path / "lib" / "ada_dynamics" / "view_node"
    node.parent.mkdir(parents=True)
    node.write_text(f"#!{python}\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert not Machine.of_nodes(patience=0.2).has_viser


def test_without_installed_nodes_the_view_is_sought_here(monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    assert Machine.of_nodes() == Machine.this()
