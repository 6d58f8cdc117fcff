# SPDX-License-Identifier: Apache-2.0
"""`ada doctor`: what is missing is named with what it brings and how to get it; what is wrong decides the exit code."""

import json
import runpy
from pathlib import Path

import pytest

from ada_dynamics.model.edit import with_gravity
from ada_dynamics.robots import mechanisms
from ada_tools import cli
from ada_tools.doctor import packages
from ada_tools.doctor.packages import PURPOSES, Requirement, is_within

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def asked(capsys):
    """Exit code and checks by name, of the command as JSON."""

    def ask():
        code = cli.main(["doctor", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert found["ok"] is (code == 0)
        return code, {check["check"]: check for check in found["checks"]}

    return ask


@pytest.fixture
def wants(monkeypatch):
    """Lets the package want other things."""

    def want(**extras):
        made = {name.rstrip("_"): [Requirement(*one)] for name, one in extras.items()}
        monkeypatch.setattr(packages, "requirements", lambda: made)

    return want


def test_a_machine_on_which_everything_needed_works_is_well(asked):
    code, checks = asked()
    assert code == 0
    assert checks["first kernel"]["verdict"] == "ok" and checks["first kernel"]["seconds"] > 0.0
    assert checks["processor"]["cpu"]
    assert {"Python", "cache", "graphics processor", "real-time rights", "ROS 2", "browser"} <= checks.keys()


def test_a_missing_extra_is_no_fault_and_is_named_with_what_it_brings(asked, wants):
    wants(view=("no-such-package", ">=1"))
    code, checks = asked()
    assert code == 0
    found = checks["extra view"]
    assert found["verdict"] == "missing"
    assert "without no-such-package" in found["text"] and PURPOSES["view"] in found["text"]
    assert "pip install" in found["text"] and "[view]" in found["text"]


def test_a_needed_package_of_another_version_is_a_fault(asked, wants):
    wants(_=("numpy", ">=99,<100"))
    code, checks = asked()
    assert code == 1
    assert checks["numpy"]["verdict"] == "failed" and "pip install 'numpy>=99,<100'" in checks["numpy"]["text"]


def test_a_kernel_that_computes_something_else_is_a_fault(asked, monkeypatch):
    model, q = mechanisms.four_bar()
    monkeypatch.setattr(mechanisms, "four_bar", lambda: (with_gravity(model, (0.0, 0.0, -9.82)), q))
    code, checks = asked()
    assert code == 1
    assert checks["first kernel"]["verdict"] == "failed"
    assert "closed form" in checks["first kernel"]["text"]


def test_a_cache_that_others_may_write_is_named(asked, monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("ADA_CACHE_DIR", str(folder))
    code, checks = asked()
    assert code == 0
    assert checks["cache"]["verdict"] == "missing" and str(folder) in checks["cache"]["text"]


def test_without_json_each_check_is_a_line(capsys, wants):
    wants(view=("no-such-package", ""))
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  ok       Python ") for line in lines)
    assert any(line.startswith("  missing  extra view ") for line in lines)
    assert lines[-1].startswith("all that is needed works; missing: extra view")


@pytest.mark.parametrize(
    ("found", "bounds", "is_it"),
    [
        ("1.1.1", ">=1.1,<2", True),
        ("2.0", ">=1.1,<2", False),
        ("1.10", ">=1.9", True),
        ("0.50.0", "<0.51,>=0.45", True),
        ("8.1.2.dev3", ">=8,<9", True),
        ("2024.8.0", ">=2024.8", True),
        ("3", "", True),
    ],
)
def test_a_version_is_within_its_range(found, bounds, is_it):
    assert is_within(found, bounds) is is_it


def test_every_purpose_is_that_of_an_extra(monkeypatch):
    found = {}
    monkeypatch.setattr("setuptools.setup", found.update)
    monkeypatch.chdir(REPOSITORY)
    runpy.run_path("setup.py")
    assert PURPOSES.keys() <= found["extras_require"].keys()
