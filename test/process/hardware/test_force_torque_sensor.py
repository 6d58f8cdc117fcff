# SPDX-License-Identifier: Apache-2.0
"""Force sensors in real time: their threads, real wires, HTTP, and emulators that are frozen and killed."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refused import refused
from waiting import until

from ada_dynamics.errors import InputError
from ada_hardware.emulation.in_process import InProcessWire
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.force_torque.dynpick.driver import DynPickSettings
from ada_hardware.force_torque.rdt.calibration import PAGE, fetch_page
from ada_hardware.force_torque.rdt.driver import NetFtDriver, NetFtSettings
from ada_hardware.force_torque.rdt.emulator import NetFtEmulator, NetFtEmulatorSettings
from ada_hardware.force_torque.sensor import ForceSensor, ForceSensorSettings, SensorState
from ada_hardware.registry import find
from ada_robot.errors import NoAnswer, TransportError, UnknownDevice
from ada_robot.ros.status import Level
from ada_robot.settings import checked

pytest.importorskip("serial")
LOAD = np.array([12.0, -34.0, 56.0, 0.7, -0.8, 0.9])
AXES = ("fx", "fy", "fz", "mx", "my", "mz")
COUNTS = {
    "dynpick": np.array([24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0]),
    "ft300": np.repeat([100.0, 1000.0], 3),
    "netft": np.full(6, 1e6),
    "onrobot": np.repeat([1e4, 1e5], 3),
}  # per N and N m; emulators have noise of two counts
QUICK: dict[str, Any] = {"bias_samples": 20, "silence_timeout": 0.2, "reopen_after": 0.05}


@pytest.mark.parametrize("name, mode", [
    pytest.param("dynpick", "poll", marks=pytest.mark.smoke), ("dynpick", "continuous"),
    pytest.param("ft300", "", marks=pytest.mark.smoke), pytest.param("netft", "", marks=pytest.mark.smoke),
    pytest.param("onrobot", "", marks=pytest.mark.smoke),
])  # fmt: skip
def test_a_sensor_on_its_real_wire_measures_the_load(name: str, mode: str) -> None:
    settings: dict[str, object] = {"mode": mode} if mode else {}
    with EmulatorProcess(name) as device:
        settings |= {"url": device.url, "timeout": 2.0}
        if name == "netft":
            settings |= {"force_scale": 1e6, "moment_scale": 1e6}
        make = find(name).driver_class()
        driver = make(checked(make.SETTINGS, settings))
        driver.open()
        try:
            for axis, value in zip(AXES, LOAD, strict=True):
                device.fault(axis, float(value))
            until(lambda: np.all(np.abs(driver.read().wrench - LOAD) <= 2.51 / COUNTS[name]), "the load", poll=0.0)
            assert driver.read().is_fresh
        finally:
            driver.close()
        assert not device.violations() and not device.state()["is_streaming"]


def test_the_thread_of_a_sensor_reads_zeroes_and_ends() -> None:
    emulator = NetFtEmulator(NetFtEmulatorSettings(rate=250.0))
    driver = NetFtDriver(NetFtSettings(), wire=InProcessWire(emulator))
    sensor = ForceSensor(driver, settings=ForceSensorSettings(**QUICK))
    for _ in range(3):
        with sensor:
            emulator.set_wrench(LOAD)
            until(lambda: sensor.newest is not None and np.allclose(sensor.newest.raw, LOAD, atol=1e-5), "the load")
            np.testing.assert_allclose(sensor.bias(timeout=30.0), LOAD, atol=1e-5)
            number = sensor.newest.number if sensor.newest else 0
            later = sensor.newer_than(number + 1, 30.0)
            assert later is not None and np.all(np.abs(later.wrench) < 1e-5)
        assert sensor.status().state is SensorState.CLOSED
        assert not any(thread.name == "sensor netft" for thread in threading.enumerate())


def test_a_sensor_whose_process_is_frozen_or_killed_is_reported_and_a_new_one_is_found() -> None:
    with EmulatorProcess("onrobot") as device:
        url = device.url
        with ForceSensor("onrobot", {"url": url, "timeout": 0.05}, ForceSensorSettings(**QUICK)) as sensor:
            is_reading = lambda: sensor.status().state is SensorState.READING  # noqa: E731
            until(is_reading, "a reading")
            device.freeze()
            until(lambda: not is_reading(), "silence")
            device.thaw()
            until(is_reading, "a reading of the thawed device")
            device.kill()
            until(lambda: sensor.status().level is Level.ERROR, "an error")
            with EmulatorProcess("onrobot", listen=url):
                until(is_reading, "a reading of the new device")


def test_a_sensor_that_cannot_be_opened_or_is_unknown_is_refused() -> None:
    sensor = ForceSensor("dynpick", {"url": "/dev/no_such_port"})
    with refused(TransportError, field="port", value="/dev/no_such_port"):
        sensor.open()
    assert sensor.status().state is SensorState.CLOSED
    for name, settings, error, field in (
        ("jr3", {}, UnknownDevice, "device"),
        ("pa10", {}, UnknownDevice, "device"),
        ("netft", DynPickSettings(), InputError, "driver_settings"),
        ("netft", {"urll": "x"}, InputError, "parameter"),
    ):
        with refused(error, field=field):
            ForceSensor(name, settings)


def test_the_calibration_is_read_over_http_past_any_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    (tmp_path / PAGE[1:]).write_bytes(b"<netft/>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert fetch_page(f"{url}{PAGE}") == b"<netft/>"
        with refused(NoAnswer, field="page", value=f"{url}/else.xml"):
            fetch_page(f"{url}/else.xml")
    finally:
        server.shutdown()
        server.server_close()
    with refused(NoAnswer, field="page", value=f"{url}{PAGE}"):
        fetch_page(f"{url}{PAGE}")
