# SPDX-License-Identifier: Apache-2.0
"""The page of a Net F/T: units by hand, what is refused, and over real HTTP."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ada_hardware.emulation.pages import PageServer
from ada_hardware.force_torque.rdt.calibration import fetch_page, parse_calibration
from ada_hardware.force_torque.rdt.netft import NetFtDriver, NetFtSettings
from ada_robot.errors import NoAnswer

PAGE = (
    b'<?xml version="1.0"?>\n<netft><!-- made up --><prodname>Net F/T</prodname><cfgcalsn>FT1234</cfgcalsn>'
    b"<cfgcpf>1000000</cfgcpf><cfgcpt>1000000</cfgcpt><scfgfu>N</scfgfu><scfgtu>Nm</scfgtu><comrdte>Enabled</comrdte>"
    b"<comrdtrate>7000</comrdtrate></netft>"
)


def page(**tags: str) -> bytes:
    values = {"cfgcpf": "1000000", "cfgcpt": "1000000", "scfgfu": "N", "scfgtu": "Nm", **tags}
    return ("<netft>" + "".join(f"<{key}>{value}</{key}>" for key, value in values.items()) + "</netft>").encode()


def test_a_page_tells_scales_rate_and_name() -> None:
    found = parse_calibration(PAGE, "here")
    assert found == ("Net F/T", "FT1234", 1e6, 1e6, 7000.0, True)
    assert not parse_calibration(page(comrdte="Disabled"), "here").is_streaming_allowed


# one unit in newtons or newton metres, worked out by hand from the definitions of pound, inch and gravity
@pytest.mark.parametrize("tag, scale, units", [
    ("scfgfu", "force_scale", {
        "N": 1.0, "kN": 1000.0, "lbf": 4.4482216152605, "lb": 4.4482216152605, "klbf": 4448.2216152605, "kgf": 9.80665,
        "kg": 9.80665, "gf": 0.00980665,
    }),
    ("scfgtu", "moment_scale", {
        "Nm": 1.0, "N-m": 1.0, "Nmm": 1e-3, "N-mm": 1e-3, "kNm": 1e3, "lbf-in": 0.1129848290276167,
        "lbin": 0.1129848290276167, "lbf-ft": 1.3558179483314004, "ft-lb": 1.3558179483314004, "kgf-cm": 0.0980665,
        "kg·cm": 0.0980665,
    }),
])  # fmt: skip
def test_forces_and_moments_are_converted(tag: str, scale: str, units: dict[str, float]) -> None:
    for unit, size in units.items():
        found = getattr(parse_calibration(page(**{tag: unit}), "here"), scale)
        assert 1e6 / found == pytest.approx(size, rel=1e-13), unit


@pytest.mark.parametrize("content, words", [
    (b"", "no XML"), (b"<html>", "no XML"), (b"<html></html>", "cfgcpf"), (page(cfgcpf="0"), "cfgcpf"),
    (page(cfgcpt="-3"), "cfgcpt"), (page(cfgcpt="many"), "many"), (page(cfgcpf="inf"), "positive"),
    (page(scfgfu="stone"), "stone"), (page(scfgtu=""), "scfgtu"), (page(scfgfu="MN"), "MN"),
    (b'<!DOCTYPE a [<!ENTITY b "c">]>' + page(), "declarations"), (page(comrdtrate="x"), "comrdtrate"),
])  # fmt: skip
def test_a_page_that_cannot_be_is_refused_with_its_reason(content: bytes, words: str) -> None:
    with pytest.raises(NoAnswer, match=words):
        parse_calibration(content, "http://192.168.1.1/netftapi2.xml")


def test_the_page_comes_over_http_past_any_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server = PageServer(lambda: {"/netftapi2.xml": PAGE})
    try:
        assert fetch_page(f"{server.url}/netftapi2.xml", 5.0) == PAGE
        with pytest.raises(NoAnswer, match=r"404.*force_scale"):
            fetch_page(f"{server.url}/else.xml", 5.0)
    finally:
        server.close()
    with pytest.raises(NoAnswer, match="power"):
        fetch_page(f"{server.url}/netftapi2.xml", 5.0)


def test_a_page_elsewhere_than_http_is_refused() -> None:
    with pytest.raises(NoAnswer, match="http://"):
        fetch_page("file:///etc/hostname", 1.0)


@pytest.mark.parametrize("wire, url", [
    ("udp://192.168.1.1:49152", "http://192.168.1.1/netftapi2.xml"), ("udp://sensor:1", "http://sensor/netftapi2.xml"),
    ("udp://[fe80::1]:49152", "http://[fe80::1]/netftapi2.xml"),
])  # fmt: skip
def test_the_sensors_own_page_is_asked_for_and_names_it(wire: str, url: str) -> None:
    asked: list[tuple[str, float]] = []

    def fetch(address: str, timeout: float) -> bytes:
        asked.append((address, timeout))
        return page(**{"prodname": "Gamma", "cfgcalsn": "FT7"} if "[" in url else {})

    port = SimpleNamespace(url=wire, device=None)
    found = NetFtDriver(NetFtSettings(page_timeout=1.5), wire=port, fetch=fetch)._prepare(port)
    assert asked == [(url, 1.5)]
    assert (found.name, found.source) == ("Gamma, calibration FT7" if "[" in url else "Net F/T", "device")
