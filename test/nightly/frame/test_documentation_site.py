# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: every public name is on a reference page, no page is lost, no link leads nowhere."""

import inspect
import os
import re
import subprocess
import sys

import pytest
from pages import ROOT

import ada_controllers
import ada_dynamics as ada
import ada_hardware.registry
import ada_robot.robot

sys.path.insert(0, str(ROOT / "docs"))
from makers import errors, gallery, reference


@pytest.fixture(scope="module")
def pages():
    return "\n".join(reference.texts().values())


@pytest.fixture(scope="module")
def failures():
    return {one.name: one for one in errors.found()}


@pytest.mark.parametrize("package", [ada, ada_controllers, ada_robot.robot, ada_hardware.registry])
def test_every_public_name_is_on_a_reference_page(package, pages, failures):
    for name in package.__all__:
        assert name in ("__version__", *failures) or re.search(rf"^:+{{py:\w+}} {name}\b", pages, re.MULTILINE), name


@pytest.mark.parametrize("cls", [ada.Model, ada.Dynamics, ada.Simulation, ada.Log, ada_controllers.Controller])
def test_every_public_method_is_there_with_its_arguments(cls, pages):
    shown = pages.split(f":{{py:class}} {cls.__name__}(")[1].split(":{py:class} ")[0]
    names = [name for name in dir(cls) if not name.startswith("_") and inspect.getdoc(getattr(cls, name))]
    assert len(names) > 2
    for name in names:
        assert re.search(rf"^:+{{py:\w+}} {name}\b|:ivar {name}:|^ *{name}\b", shown, re.MULTILINE), name
    assert "forward(q: ArrayLike, v: ArrayLike, tau: ArrayLike" in pages


def test_every_error_is_explained_with_its_messages(failures):
    assert {"AdaError", "ModelError", "ControllerError", "TransportError", "ScenarioError"} <= set(failures)
    assert all(one.means for one in failures.values())
    assert "no {what} is named {name}.{hint} Known: {...}." in failures["UnknownNameError"].messages


def test_every_example_has_a_page_with_its_code_and_its_picture():
    every = list(gallery.examples())
    assert {one.file for one in every} >= {path.name for path in (ROOT / "examples").glob("*.py")}
    assert sum(bool(one.picture) for one in every) >= 10
    for one in every:
        assert not one.picture or (ROOT / "docs" / one.picture).exists()


def test_the_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (ROOT / link).exists(), link


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    for needed in ("sphinx", "myst_parser", "furo", "sphinx_design", "sphinx_copybutton", "sphinx-mathjax-offline"):
        pytest.importorskip(needed, reason="the extra docs is not installed")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "read")]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    pages = [str(ROOT / "docs"), str(tmp_path / "site")]
    made = subprocess.run([*build, *pages], capture_output=True, text=True, timeout=300, env=environment)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "site/reference/dynamics.html").exists()
