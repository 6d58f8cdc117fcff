# SPDX-License-Identifier: Apache-2.0
"""The page netftapi2.xml of a Net F/T: counts per unit, units, rate, ranges."""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from typing import NamedTuple
from xml.etree import ElementTree

from ada_robot.errors import NoAnswer

PAGE = "/netftapi2.xml"
_LARGEST = 1 << 20  # [bytes]

# pound-force: 0.45359237 kg in 9.80665 m/s²; an inch is 0.0254 m. The spellings are those that devices and programs
# for them show, without spaces, dots and dashes.
_LBF, _KGF, _INCH = 0.45359237 * 9.80665, 9.80665, 0.0254  # [N], [N], [m]
FORCE_UNITS = {
    "n": 1.0,
    "kn": 1e3,
    "lb": _LBF,
    "lbf": _LBF,
    "klb": 1e3 * _LBF,
    "klbf": 1e3 * _LBF,
    "kg": _KGF,
    "kgf": _KGF,
    "g": 1e-3 * _KGF,
    "gf": 1e-3 * _KGF,
}
"""Newtons per unit."""
MOMENT_UNITS = {
    "nm": 1.0,
    "nmm": 1e-3,
    "knm": 1e3,
    "lbin": _LBF * _INCH,
    "lbfin": _LBF * _INCH,
    "inlb": _LBF * _INCH,
    "inlbf": _LBF * _INCH,
    "lbft": _LBF * 12.0 * _INCH,
    "lbfft": _LBF * 12.0 * _INCH,
    "ftlb": _LBF * 12.0 * _INCH,
    "ftlbf": _LBF * 12.0 * _INCH,
    "kgcm": _KGF * 1e-2,
    "kgfcm": _KGF * 1e-2,
}
"""Newton metres per unit."""


class Calibration(NamedTuple):
    """Calibration of a device.

    Attributes:
        product: its name.
        serial: serial number of the calibration; "" where it does not say.
        force_scale: counts per newton.
        moment_scale: counts per newton metre.
        rate: records per second; 0 where it does not say [Hz].
        is_streaming_allowed: whether RDT is switched on; True where it does not say.
    """

    product: str
    serial: str
    force_scale: float
    moment_scale: float
    rate: float
    is_streaming_allowed: bool


def parse_calibration(page: bytes, where: str) -> Calibration:
    """Read the page.

    Args:
        page: what the device served.
        where: for messages.

    Raises:
        NoAnswer: it is not the page of such a device, or has a unit or figure that cannot be.
    """
    tags = _tags(page, where)
    return Calibration(
        tags.get("prodname", ""),
        tags.get("cfgcalsn", ""),
        _positive(tags, "cfgcpf", where) / _unit(tags, "scfgfu", FORCE_UNITS, where),
        _positive(tags, "cfgcpt", where) / _unit(tags, "scfgtu", MOMENT_UNITS, where),
        _positive(tags, "comrdtrate", where) if "comrdtrate" in tags else 0.0,
        tags.get("comrdte", "enabled").lower() not in ("disabled", "0", "false", "off"),
    )


def fetch_page(url: str, timeout: float) -> bytes:
    """Get the page over HTTP, never through a proxy: the device stands beside us.

    Raises:
        NoAnswer: it cannot be had.
    """
    if not url.startswith(("http://", "https://")):
        text = f"calibration_url is {url!r}; it must be such as http://192.168.1.1{PAGE}."
        raise NoAnswer(text, field="calibration_url", value=url)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout) as answer:
            return bytes(answer.read(_LARGEST))
    except (urllib.error.URLError, OSError, ValueError) as problem:
        raise NoAnswer(
            f"{url}: the calibration cannot be read: {problem}. Look at the device's address and power, or give "
            "force_scale and moment_scale from its sheet.",
            field="page",
            value=url,
        ) from None


def _tags(page: bytes, where: str) -> dict[str, str]:
    if b"<!" in page.replace(b"<!--", b""):
        # such a page has no need of declarations, and they can be made to fill the memory
        text = f"{where}: the page has declarations (<!...>); it is not that of a Net F/T."
        raise NoAnswer(text, field="declarations", value=where)
    try:
        root = ElementTree.fromstring(page)
    except ElementTree.ParseError as problem:
        raise NoAnswer(
            f"{where}: the page is no XML ({problem}); is this the address of a Net F/T?", field="XML", value=where
        ) from None
    found: dict[str, str] = {}
    for one in root.iter():
        found.setdefault(one.tag.rpartition("}")[2].lower(), (one.text or "").strip())
    return found


def _positive(tags: dict[str, str], name: str, where: str) -> float:
    text = tags.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0.0):
        shown = repr(text) if name in tags else "missing"
        text = f"{where}: <{name}> is {shown:.60}; it must be a positive number. Give force_scale and moment_scale."
        raise NoAnswer(text, field=name, value=tags.get(name))
    return value


def _unit(tags: dict[str, str], name: str, units: dict[str, float], where: str) -> float:
    text = tags.get(name, "")
    key = "".join(one for one in text.lower() if one.isalpha())
    if key not in units:
        text = (
            f"{where}: <{name}> is {text!r:.40}, which is no known unit; known are {', '.join(units)}. "
            "Give force_scale and moment_scale."
        )
        raise NoAnswer(text, field=name, value=text, allowed=tuple(units))
    return units[key]
