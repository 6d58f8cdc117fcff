# SPDX-License-Identifier: Apache-2.0
"""`ada hw scan`: ARCNET interfaces, a Net F/T in the network, and what is printed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hw_command import Ada

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.self_test.plugged_in import arcnet, net_ft
from ada_hardware.transport.arcnet import place_of
from ada_hardware.transport.claim import claim

list_ports = pytest.importorskip("serial.tools.list_ports")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with an ARCNET interface that is down, beside a module that disturbs it."""
    for name, text in (("type", "7"), ("flags", "0x1002")):
        file = tmp_path / "sys/class/net/lo" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/modules").write_text("capmode 16384 0 - Live\narc_rawmode 16384 0 - Live\n")
    return tmp_path


def test_arcnet_that_is_down_without_rights_and_beside_capmode_is_reported_with_the_commands(root: Path) -> None:
    found = arcnet(root, may_send=False)
    assert found.interfaces == {"lo": False} and not found.may_send
    text = "\n".join(found.problems)
    for command in ("sudo ip link set lo up", "sudo setcap cap_net_raw,cap_sys_rawio+ep", "sudo modprobe -r capmode"):
        assert command in text
    (root / "sys/class/net/lo/flags").write_text("0x1003\n")
    (root / "proc/modules").write_text("")
    found = arcnet(root, may_send=True)
    assert found.interfaces == {"lo": True} and found.problems == ()


def test_arcnet_that_a_program_has_is_reported_with_the_program(root: Path) -> None:
    mark = claim(place_of("lo"), "arcnet:lo")
    assert any(text.startswith("lo is in use") and f"({os.getpid()})" in text for text in arcnet(root).problems)
    mark.release()
    assert not [text for text in arcnet(root).problems if "in use" in text]


def test_a_net_ft_is_found_by_its_page() -> None:
    with EmulatorProcess("netft", {"rate": 500.0}) as device:
        found = net_ft(device.http_url.removeprefix("http://"))
    assert found["problem"] == "" and found["rate_hz"] == 500.0
    assert found["url"] == "udp://127.0.0.1:49152"
    assert net_ft("127.0.0.1:9", 1.0)["problem"]


def with_ports(monkeypatch: pytest.MonkeyPatch, *devices: str) -> None:
    about = {"vid": 0x0403, "pid": 0x6001, "manufacturer": "FTDI", "product": "FT232R", "description": "n/a"}
    found = [SimpleNamespace(device=device, serial_number="A1", **about) for device in devices]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: found)


def test_scan_lists_ports_and_ends_with_code_1_where_something_is_in_the_way_or_missing(
    monkeypatch: pytest.MonkeyPatch, ada: Ada
) -> None:
    with_ports(monkeypatch, "/dev/ttyADA0")
    code, out, _ = ada("scan", "--json")
    found = json.loads(out)
    assert code == 0 and found["serial"][0]["usb"] == "0403:6001" and found["netft"] is None
    code, out, _ = ada("scan")
    assert code == 0 and "/dev/ttyADA0  0403:6001" in out
    with_ports(monkeypatch)
    code, out, _ = ada("scan", "--netft", "127.0.0.1:9")
    assert code == 1 and "Net F/T: !" in out
    with_ports(monkeypatch, "/dev/null")
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, out, _ = ada("scan")
    assert code == 1 and "! no permission for /dev/null" in out
