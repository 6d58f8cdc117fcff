# SPDX-License-Identifier: Apache-2.0
"""Page and record numbers of a Net F/T."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from refused import refused

from ada_dynamics.clock import ManualClock
from ada_hardware.force_torque.rdt.calibration import parse_calibration
from ada_hardware.force_torque.rdt.codec import RdtRecord, encode_records
from ada_hardware.force_torque.rdt.driver import WRAP, NetFtDriver, NetFtSettings, SequenceWatch
from ada_hardware.force_torque.sensor_driver import SequenceCounts
from ada_hardware.transport.wires import Wire
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
        "lbin": 0.1129848290276167, "lbf-ft": 1.3558179483314004, "lb-ft": 1.3558179483314004,
        "ft-lb": 1.3558179483314004, "kgf-cm": 0.0980665, "kg·cm": 0.0980665,
    }),
])  # fmt: skip
def test_forces_and_moments_are_converted(tag: str, scale: str, units: dict[str, float]) -> None:
    for unit, size in units.items():
        found = getattr(parse_calibration(page(**{tag: unit}), "here"), scale)
        assert 1e6 / found == pytest.approx(size, rel=1e-13), unit


@pytest.mark.parametrize("content, field", [
    (b"", "XML"), (b"<html>", "XML"), (b"<html></html>", "cfgcpf"), (page(cfgcpf="0"), "cfgcpf"),
    (page(cfgcpt="-3"), "cfgcpt"), (page(cfgcpt="many"), "cfgcpt"), (page(cfgcpf="inf"), "cfgcpf"),
    (page(scfgfu="stone"), "scfgfu"), (page(scfgtu=""), "scfgtu"), (page(scfgfu="MN"), "scfgfu"),
    (b'<!DOCTYPE a [<!ENTITY b "c">]>' + page(), "declarations"), (page(comrdtrate="x"), "comrdtrate"),
])  # fmt: skip
def test_a_page_that_cannot_be_is_refused_with_its_reason(content: bytes, field: str) -> None:
    with refused(NoAnswer, field=field):
        parse_calibration(content, "http://192.168.1.1/netftapi2.xml")


class Port(Wire):
    """A sensor that answers each wait with one record."""

    def __init__(self, url: str) -> None:
        self.url, self._number = url, 0

    def send(self, packet: bytes) -> None: ...

    def receive(self, timeout: float) -> bytes | None:
        self._number += 1
        return encode_records(RdtRecord(self._number, self._number, 0, (0,) * 6)) if timeout > 0.0 else None

    def discard_input(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("wire, url", [
    ("udp://192.168.1.1:49152", "http://192.168.1.1/netftapi2.xml"), ("udp://sensor:1", "http://sensor/netftapi2.xml"),
    ("udp://[fe80::1]:49152", "http://[fe80::1]/netftapi2.xml"),
])  # fmt: skip
def test_the_sensors_own_page_is_asked_for_and_names_it(wire: str, url: str) -> None:
    asked: list[str] = []

    def fetch(address: str) -> bytes:
        asked.append(address)
        return page(prodname="Gamma", cfgcalsn="FT7")

    driver = NetFtDriver(NetFtSettings(), wire=Port(wire), clock=ManualClock(), fetch=fetch)
    driver.open()
    found = driver.identity()
    assert asked == [url]
    assert found is not None and (found.name, found.source) == ("Gamma, calibration FT7", "device")


def watched(numbers: Iterable[int]) -> tuple[list[int], SequenceCounts]:
    counts = SequenceCounts()
    watch = SequenceWatch(counts)
    return [one for one in numbers if watch.is_new(one % WRAP)], counts


FAR = 0x7000_0000


@pytest.mark.parametrize("came, used, counts", [
    ([1, 2, 5, 6, 10], [1, 2, 5, 6, 10], SequenceCounts(lost=5)),
    ([1, 2, 4, 3, 5], [1, 2, 4, 5], SequenceCounts(lost=1, late=1)),
    ([1, 2, 2, 3, 2, 3, 4], [1, 2, 3, 4], SequenceCounts(late=3)),
    ([2, 0, 3, 5], [2, 3, 5], SequenceCounts(lost=1, late=1)),  # what is before the first was never lost
    ([WRAP - 2, WRAP - 1, 1, 0, 2], [WRAP - 2, WRAP - 1, 1, 2], SequenceCounts(lost=1, late=1)),
    ([1, 2, FAR, 3, 4], [1, 2, 3, 4], SequenceCounts(late=1)),  # one number that is far off is not believed
    ([1, 10_001], [1, 10_001], SequenceCounts(lost=9_999)),  # so many may be lost in one piece
    ([1, 10_002], [1], SequenceCounts(late=1)),
    ([1, *range(FAR, FAR + 40)], [1, *range(FAR + 31, FAR + 40)], SequenceCounts(late=31, restarted=1)),
    ([*range(1, 101), *range(1, 200)], [*range(1, 101), *range(32, 200)], SequenceCounts(late=31, restarted=1)),
    ([*range(70_000, 70_010), *range(1, 32)], [*range(70_000, 70_010)], SequenceCounts(late=31)),
])  # fmt: skip
def test_lost_late_doubled_and_restarted_records(came: list[int], used: list[int], counts: SequenceCounts) -> None:
    assert watched(came) == (used, counts)
