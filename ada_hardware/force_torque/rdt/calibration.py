# SPDX-License-Identifier: Apache-2.0
"""Calibration page netftapi2.xml of a Net F/T: counts per unit, units, rate, ranges."""

from __future__ import annotations

import math
import re
import urllib.error
import urllib.request
from typing import NamedTuple
from xml.etree import ElementTree

from ada_robot.errors import NoAnswer

PAGE = "/netftapi2.xml"
_LARGEST = 1 << 20  # [bytes]
_TIMEOUT = 2.0  # [s] of the page

# pound-force: 0.45359237 kg in 9.80665 m/s²; inch: 0.0254 m. Keys are the spellings used by devices and their
# programs, without spaces, dots and dashes, and without the f of lbf, kgf and gf.
_LB, _KG, _INCH = 0.45359237 * 9.80665, 9.80665, 0.0254  # [N], [N], [m]
FORCE_UNITS = {"n": 1.0, "kn": 1e3, "lb": _LB, "klb": 1e3 * _LB, "kg": _KG, "g": 1e-3 * _KG}
"""Newtons per unit."""
MOMENT_UNITS = {
    "nm": 1.0,
    "nmm": 1e-3,
    "knm": 1e3,
    "lbin": _LB * _INCH,
    "inlb": _LB * _INCH,
    "lbft": _LB * 12.0 * _INCH,
    "ftlb": _LB * 12.0 * _INCH,
    "kgcm": _KG * 1e-2,
}
"""Newton metres per unit."""


class Calibration(NamedTuple):
    """Calibration of a device."""

    product: str  # product name
    serial: str  # serial number of the calibration; "" if missing
    force_scale: float  # counts per newton
    moment_scale: float  # counts per newton metre
    rate: float  # records per second [Hz]; 0 if missing
    is_streaming_allowed: bool  # RDT is enabled; True if missing


def parse_calibration(page: bytes, where: str) -> Calibration:
    """Parse the calibration page.

    Args:
        page: content of the page.
        where: address for messages.

    Raises:
        NoAnswer: it is not a calibration page, or has an invalid unit or number.
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


def fetch_page(url: str) -> bytes:
    """Fetch the page over HTTP, without a proxy.

    Raises:
        NoAnswer: the page cannot be read.
    """
    if not url.startswith(("http://", "https://")):
        text = f"calibration_url is {url!r}; required is an address such as http://192.168.1.1{PAGE}."
        raise NoAnswer(text, field="calibration_url", value=url)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=_TIMEOUT) as answer:
            return bytes(answer.read(_LARGEST))
    except (urllib.error.URLError, OSError, ValueError) as problem:
        raise NoAnswer(
            f"{url}: cannot read the calibration: {problem}. Check address and power supply of the device, or set "
            "force_scale and moment_scale from the data sheet.",
            field="page",
            value=url,
        ) from None


def _tags(page: bytes, where: str) -> dict[str, str]:
    if b"<!" in page.replace(b"<!--", b""):
        # the page needs no declarations, and entity declarations can exhaust the memory
        text = f"{where}: the page contains declarations (<!...>); it is not a page of a Net F/T."
        raise NoAnswer(text, field="declarations", value=where)
    try:
        root = ElementTree.fromstring(page)
    except ElementTree.ParseError as problem:
        raise NoAnswer(
            f"{where}: not XML ({problem}); check that this is the address of a Net F/T.", field="XML", value=where
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
        text = f"{where}: <{name}> is {shown:.60}, not a positive number. Set force_scale and moment_scale."
        raise NoAnswer(text, field=name, value=tags.get(name))
    return value


def _unit(tags: dict[str, str], name: str, units: dict[str, float], where: str) -> float:
    text = tags.get(name, "")
    key = re.sub(r"(lb|g)f(?!t)", r"\1", re.sub(r"[^a-z]", "", text.lower()))
    if key not in units:
        text = (
            f"{where}: <{name}> is {text!r:.40}, an unknown unit; known are {', '.join(units)}. "
            "Set force_scale and moment_scale."
        )
        raise NoAnswer(text, field=name, value=text, allowed=tuple(units))
    return units[key]
