# SPDX-License-Identifier: Apache-2.0
"""`ada doctor`: what is missing is named with what it brings and how to get it; what is wrong decides the exit code."""

import json

import pytest

from ada_hardware.self_test.checks import Checks, Verdict
from ada_tools import cli
from ada_tools.commands.doctor import PURPOSES, check_packages


@pytest.fixture
def asked(capsys):
    """Exit code and checks by name, of the command as JSON."""

    def ask():
        code = cli.main(["doctor", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert found["ok"] is (code == 0)
        return code, {check["check"]: check for check in found["checks"]}

    return ask


def packages_of(**wanted):
    checks = Checks()
    check_packages(checks, {name.rstrip("_"): [one] for name, one in wanted.items()})
    return {check.name: check for check in checks.done}


def test_a_machine_on_which_everything_needed_works_is_well(asked):
    code, checks = asked()
    assert code == 0
    assert checks["first kernel"]["verdict"] == "ok" and checks["first kernel"]["seconds"] > 0.0
    assert checks["processor"]["cpu"]
    assert {"Python", "cache", "graphics processor", "real-time rights", "ROS 2", "browser"} <= checks.keys()


def test_a_missing_extra_is_no_fault_and_is_named_with_what_it_brings():
    found = packages_of(view="no-such-package")["extra view"]
    assert found.verdict is Verdict.MISSING
    assert PURPOSES["view"] in found.text and "[view]" in found.text


def test_a_missing_required_package_is_a_fault():
    found = packages_of(_="no-such-package")["no-such-package"]
    assert found.verdict is Verdict.FAILED and "pip install no-such-package" in found.text


def test_a_cache_that_others_may_write_is_named(asked, monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("ADA_CACHE_DIR", str(folder))
    code, checks = asked()
    assert code == 0
    assert checks["cache"]["verdict"] == "missing" and str(folder) in checks["cache"]["text"]
