# SPDX-License-Identifier: Apache-2.0
"""What the start of nodes finds out about ROS 2 around it; most of it in made-up installations."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from ada_robot.ros.environment import (
    MARK,
    can_send_tf,
    child_environment,
    mixed_installations,
    prepare,
    ros_problem,
    wheels_version,
)

has_wheels = pytest.mark.skipif(wheels_version() is None, reason="rclpy is not from PyPI here")


def versions(monkeypatch, version):
    """Let rclpy's wheel have a version, or not be there."""

    def found(name):
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", found)


@pytest.fixture
def wheels(monkeypatch):
    versions(monkeypatch, "7.1.6")
    for name in ("AMENT_PREFIX_PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "ROS_DISTRO", "RMW_IMPLEMENTATION"):
        monkeypatch.delenv(name, raising=False)


def installed_ros(folder: Path) -> Path:
    """The file of an installed ROS 2 that tells it from others."""
    index = folder / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / "rclpy").touch()
    return folder


def test_package_look_ups_find_the_wheels(monkeypatch, wheels):
    prepare()
    assert os.environ["AMENT_PREFIX_PATH"] == sys.prefix
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/mine")
    prepare()
    assert os.environ["AMENT_PREFIX_PATH"] == "/mine"


def test_a_child_does_not_inherit_folders_of_wheels_of_this_or_another_environment(wheels):
    libs = f"{sys.prefix}/lib/python3.11/site-packages/ros_rcl.libs"
    parent = {MARK: "1", "LD_LIBRARY_PATH": f"{sys.prefix}/lib:/opt/cuda/lib:{libs}", "HOME": "/home/me"}
    child = child_environment(parent)
    assert child == {"LD_LIBRARY_PATH": "/opt/cuda/lib", "HOME": "/home/me", "AMENT_PREFIX_PATH": sys.prefix}
    assert MARK in parent, "the argument stays as it is"
    libs = "/other/lib/python3.12/site-packages/ros_rcl.libs"
    child = child_environment({MARK: "1", "LD_LIBRARY_PATH": f"{libs}:/other/lib:/opt/cuda/lib"})
    assert child["LD_LIBRARY_PATH"] == "/opt/cuda/lib"


@has_wheels
def test_rclpy_loads_in_a_child_of_a_process_that_has_it_loaded():
    code = "import rclpy, sys; sys.exit(rclpy.ok())"
    assert subprocess.run([sys.executable, "-c", code], env=child_environment(), check=False).returncode == 0


def test_a_sourced_ros_beside_wheels_is_warned_of_with_the_fix(monkeypatch, wheels, tmp_path):
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(installed_ros(tmp_path)))
    warning = mixed_installations()
    assert str(tmp_path) in warning and "AMENT_PREFIX_PATH" in warning
    versions(monkeypatch, None)
    assert mixed_installations() is None, "a sourced ROS alone is fine"


def hide(monkeypatch, *modules):
    found = importlib.util.find_spec
    hidden = lambda name, *rest: None if name in modules else found(name, *rest)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", hidden)


def on(monkeypatch, system, machine, python):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(sys, "version_info", (*python, 0, "final", 0))


def test_without_rclpy_it_says_what_to_install(monkeypatch):
    hide(monkeypatch, "rclpy")
    for system, machine, python, words in (
        ("linux", "x86_64", (3, 11), "pip install "),
        ("linux", "aarch64", (3, 12), "whose Python is 3.12"),
        ("darwin", "arm64", (3, 12), "here: darwin arm64"),
        ("linux", "x86_64", (3, 15), "here: 3.15"),
    ):
        with monkeypatch.context() as during:
            on(during, system, machine, python)
            problem = ros_problem()
        assert "rclpy" in problem and words in problem


@has_wheels
def test_a_middleware_that_the_wheels_lack_is_refused_before_it_ends_the_process(monkeypatch):
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp")
    problem = ros_problem()
    assert "'rmw_cyclonedds_cpp'" in problem
    assert problem.endswith("unset it, or use rmw_fastrtps_cpp.")
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    assert ros_problem() is None


def test_tf_can_be_sent_where_its_messages_are(monkeypatch):
    assert can_send_tf() is (importlib.util.find_spec("tf2_msgs") is not None)
    monkeypatch.setitem(sys.modules, "tf2_msgs", None)
    monkeypatch.delitem(sys.modules, "tf2_msgs.msg", raising=False)
    assert not can_send_tf()
