# SPDX-License-Identifier: Apache-2.0
"""One slider per coordinate of a robot with closed loops; sliders of dependent coordinates follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ada_tools.browser.joint_sliders import shown
from ada_tools.browser.page import Page, SharedNumber
from ada_tools.browser.posing import Knob, Posing
from ada_tools.browser.slider_range import slider_range


class PoseSliders:
    """Sliders for the coordinates of a `Posing`."""

    def __init__(
        self,
        page: Page,
        posing: Posing,
        moved: Callable[[str], None],
        wanted: Callable[[Knob], bool] = lambda knob: True,
    ) -> None:
        """Add the sliders to the page.

        Args:
            page: page to draw on.
            posing: configuration that the sliders change.
            moved: called after each change, with a message for the user or "".
            wanted: selects the coordinates that get a slider; all by default.
        """
        self.page, self.posing = page, posing
        self.sliders: list[tuple[Knob, Any]] = []
        self._moved = moved
        self._numbers: dict[Knob, SharedNumber] = {}
        knobs = [knob for knob in posing.knobs if wanted(knob)]
        with page.gui.add_folder("joints"):
            self._add([knob for knob in knobs if knob.leads])
        followers = [knob for knob in knobs if not knob.leads]
        if followers:
            with page.gui.add_folder("joints that follow", expand_by_default=len(followers) <= 6):
                self._add(followers)

    def _add(self, knobs: list[Knob]) -> None:
        for knob in knobs:
            value, unit = shown(self.posing.value(knob), knob.is_angle), "deg" if knob.is_angle else "m"
            limits = slider_range(shown(knob.lower, knob.is_angle), shown(knob.upper, knob.is_angle), knob.is_angle)
            low, high, step = limits = limits.including(value)
            slider = self.page.gui.add_slider(
                f"{knob.label} [{unit}]", low, high, step, limits.nearest(value), disabled=not knob.leads
            )
            self.sliders.append((knob, slider))
            self._numbers[knob] = SharedNumber(slider)
            if knob.leads:
                self.page.when(slider, partial(self.move, knob))

    def move(self, knob: Knob) -> None:
        """Apply a slider; it returns to the last reachable value if the loops cannot be closed."""
        number = self._numbers[knob]
        wanted = number.read()
        if not number.control.min <= wanted <= number.control.max:
            return  # incomplete typed number; the browser clips the final value to the range
        arrived = self.posing.move(knob, math.radians(wanted) if knob.is_angle else wanted)
        unit = "deg" if knob.is_angle else "m"
        self._moved(
            ""
            if arrived
            else f"**{knob.label}** cannot reach {wanted:.4g} {unit} with the loops closed; "
            f"it stops at {shown(self.posing.value(knob), knob.is_angle):.4g} {unit}."
        )

    def show(self) -> None:
        """Set all sliders to the present configuration."""
        for knob, number in self._numbers.items():
            number.show(shown(self.posing.value(knob), knob.is_angle))
