# SPDX-License-Identifier: Apache-2.0
"""What is plugged in: ports, converters, permissions and what mends them, on file systems made for the purpose."""

from __future__ import annotations

import grp
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ada_hardware.registry import DEVICES
from ada_hardware.self_test import plugged_in
from ada_hardware.self_test.plugged_in import serial_ports
from ada_hardware.self_test.usb_ids import CONVERTERS, SERIAL, converter


def listed(device: str = "/dev/ttyUSB0", vid: int | None = 0x0403, pid: int | None = 0x6001, **more: Any) -> Any:
    """A port as pyserial lists it."""
    about = {"manufacturer": "FTDI", "product": "FT232R", "description": "n/a", "serial_number": "A1", **more}
    return SimpleNamespace(device=device, vid=vid, pid=pid, **about)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with one FTDI converter at ttyUSB0, 16 ms slow."""
    port = tmp_path / "dev/ttyUSB0"
    port.parent.mkdir()
    port.touch()
    by_id = tmp_path / "dev/serial/by-id"
    by_id.mkdir(parents=True)
    (by_id / "usb-FTDI_A1").symlink_to(port)
    device = tmp_path / "sys/bus/usb/drivers/ftdi_sio/port"
    device.mkdir(parents=True)
    (device / "latency_timer").write_text("16\n")
    (device / "driver").symlink_to(tmp_path / "sys/bus/usb/drivers/ftdi_sio")
    (tmp_path / "sys/class/tty/ttyUSB0").mkdir(parents=True)
    (tmp_path / "sys/class/tty/ttyUSB0/device").symlink_to(device)
    (tmp_path / "proc").mkdir()
    return tmp_path


def test_a_port_is_listed_with_converter_driver_lasting_name_and_its_likely_devices(root: Path) -> None:
    (found,) = serial_ports([listed()], root)
    assert (found.device, found.usb, found.driver) == ("/dev/ttyUSB0", "0403:6001", "ftdi_sio")
    assert (found.by_id, found.may_be[0]) == ("/dev/serial/by-id/usb-FTDI_A1", "khr1")
    built_in = listed("/dev/ttyS0", None, None, manufacturer=None, product=None)
    ports = serial_ports([listed("/dev/ttyACM0", 0x1234, 0x5678), built_in], root)
    assert [(one.device, one.may_be) for one in ports] == [("/dev/ttyACM0", SERIAL), ("/dev/ttyS0", SERIAL)]


def test_a_slow_converter_is_reported_with_the_file_that_mends_it(root: Path) -> None:
    (found,) = serial_ports([listed()], root)
    assert found.latency_ms == 16
    assert "/sys/bus/usb-serial/devices/ttyUSB0/latency_timer" in found.problems[0]
    (root / "sys/class/tty/ttyUSB0/device/latency_timer").write_text("1\n")
    assert serial_ports([listed()], root)[0].problems == ()


@pytest.mark.parametrize(("mode", "text"), [(0o660, "sudo usermod -aG dialout $USER"), (0o600, "/etc/udev/rules.d")])
def test_a_missing_permission_is_reported_with_what_gives_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, mode: int, text: str
) -> None:
    (root / "dev/ttyUSB0").chmod(mode)
    monkeypatch.setattr(grp, "getgrgid", lambda number: SimpleNamespace(gr_name="dialout"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert text in serial_ports([listed()], root)[0].problems[0]


def test_the_program_that_has_a_port_open_is_named(root: Path) -> None:
    process = root / "proc/123/fd"
    process.mkdir(parents=True)
    (process.parent / "comm").write_text("ModemManager\n")
    (process / "5").symlink_to(root / "dev/ttyUSB0")
    found = serial_ports([listed()], root)[0]
    assert found.users == ("ModemManager (123)",) and any("in use" in one for one in found.problems)
    with Path("/dev/null").open() as file:
        assert f"({os.getpid()})" in " ".join(plugged_in.users_of(Path(f"/proc/self/fd/{file.fileno()}").readlink()))


def test_converters_lead_to_devices_that_there_are_and_that_have_a_serial_line() -> None:
    assert {name for name, kind in DEVICES.items() if kind.emulator_class().WIRE == "stream"} == set(SERIAL)
    assert all(set(one.may_be) <= set(SERIAL) for one in CONVERTERS.values())
    assert converter(0x10C4, 0xEA60).may_be[0] == "dynpick"
    assert converter(0x165C, 0x0008).name == "Kondo's USB adapter"  # whichever product of theirs
