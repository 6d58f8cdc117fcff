# SPDX-License-Identifier: Apache-2.0
"""MJCF's <replicate>: its content several times, each copy in a frame of its own and with a number behind its names."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.problems import Sink
from ada_dynamics.model.rotations import NO_MOVE, compose
from ada_dynamics.robots.readers.mjcf.values import MAIN, Settings, Values
from ada_dynamics.robots.readers.xml import Element

MOST = 10_000  # copies of one element
MOST_ELEMENTS = 100_000  # in all copies of a document: copies of copies are many with few words


def expand_replicates(root: Element, settings: Settings, sink: Sink) -> None:
    """Write out all replicates below an element; those inside come first, so that outer numbers stand last."""
    left = MOST_ELEMENTS
    for element in reversed(list(root.walk())):
        if not any(child.tag == "replicate" for child in element.children):
            continue
        written: list[Element] = []
        for child in element.children:
            copies = _copies(child, settings, sink, left) if child.tag == "replicate" else [child]
            written += copies
            left -= sum(1 for copy in copies for _ in copy.walk()) if child.tag == "replicate" else 0
        element.children = written


def _copies(element: Element, settings: Settings, sink: Sink, most: int) -> list[Element]:
    values = Values(element, "<replicate>", sink, settings, MAIN)
    count = int(values.number("count", 0.0))
    if not 0 < count <= MOST:
        values.problem("keyword", f"has count={values.text('count')!r}.", f"A number from 1 to {MOST}.")
        return []
    if count * sum(1 for _ in element.walk()) > most:
        fix = f"All copies together have at most {MOST_ELEMENTS} elements."
        values.problem("keyword", "makes too many copies.", fix)
        return []
    offset, turns = values.vector("offset", (0.0, 0.0, 0.0)), values.vector("euler", (0.0, 0.0, 0.0))
    digits, separator = len(str(count)), values.text("sep")
    result, place = [], NO_MOVE
    for i in range(count):
        # a copy is turned by i times the angles, and moved by i moves of which each turns the next
        frame = _frame(element, values.turned_by(i * turns), place[1])
        frame.children = [_renamed(child, f"{separator}{i:0{digits}d}") for child in element.children]
        result.append(frame)
        place = compose(place, (values.turned_by(turns), offset))
    return result


def _frame(element: Element, R: Array, p: Array) -> Element:
    x_and_y = np.concatenate([R[:, 0], R[:, 1]])
    attributes = {"pos": " ".join(map(repr, p.tolist())), "xyaxes": " ".join(map(repr, x_and_y.tolist()))}
    if "childclass" in element.attributes:
        attributes["childclass"] = element.attributes["childclass"]
    frame = Element("frame", attributes, element.line)
    frame.file = element.file
    return frame


def _renamed(element: Element, ending: str) -> Element:
    attributes = dict(element.attributes)
    if attributes.get("name"):
        attributes["name"] += ending
    copy = Element(element.tag, attributes, element.line)
    copy.file, copy.text = element.file, element.text
    copy.children = [_renamed(child, ending) for child in element.children]
    return copy
