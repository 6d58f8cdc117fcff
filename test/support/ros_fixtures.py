# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a ROS 2 world of its own for each test, scripted robots, a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hardware_world import Fleet
    from ros_world import RosWorld


@contextmanager
def world_of_its_own(log_folder: Path) -> Iterator[RosWorld]:
    from ros_world import RosWorld, world_environment

    from benchmarks.ros.domains import own_domain

    with own_domain() as domain:
        world = RosWorld(domain, world_environment(domain, log_folder))
        try:
            yield world
        finally:
            world.close()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    from chromium import chromium

    with chromium(tmp_path / "chromium") as driver:
        driver.set_window_size(1000, 700)
        yield driver


@pytest.fixture
def ros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RosWorld]:
    """A DDS domain of its own, nodes that spin, processes that end with the test; see ros_world.py."""
    pytest.importorskip("rclpy")
    # After a peer was killed, Fast DDS may crash where it closes a port in shared memory.
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # of flight records
    with world_of_its_own(tmp_path / "ros_log") as world:
        world.environment["XDG_STATE_HOME"] = str(tmp_path / "state")
        for name in ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOG_DIR", "AMENT_PREFIX_PATH"):
            monkeypatch.setenv(name, world.environment[name])
        for name in ("ROS_LOCALHOST_ONLY", "ROS_DISCOVERY_SERVER", "ROS_STATIC_PEERS"):
            monkeypatch.delenv(name, raising=False)
        yield world


@pytest.fixture
def other(tmp_path: Path) -> Iterator[RosWorld]:
    with world_of_its_own(tmp_path / "other_log") as world:
        yield world


@pytest.fixture
def beside(ros: RosWorld) -> Iterator[RosWorld]:
    """The same domain with an executor of its own: for a node whose callbacks block."""
    world = type(ros)(ros.domain, ros.environment)
    try:
        yield world
    finally:
        world.close()


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    from hardware_world import Fleet

    robots = Fleet()
    yield robots
    robots.open_all()
