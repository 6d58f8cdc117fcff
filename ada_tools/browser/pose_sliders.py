# SPDX-License-Identifier: Apache-2.0
"""One slider per coordinate of a robot with closed loops; sliders of dependent coordinates follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ada_tools.browser.joint_sliders import shown, slider_range
from ada_tools.browser.page import Page, SharedNumber
from ada_tools.browser.posing import PoseCoordinate, Posing


class PoseSliders:
    """Sliders for the coordinates of a `Posing`."""

    def __init__(
        self,
        page: Page,
        posing: Posing,
        moved: Callable[[str], None],
        wanted: Callable[[PoseCoordinate], bool] = lambda coordinate: True,
    ) -> None:
        """Add the sliders to the page.

        Args:
            page: page to draw on.
            posing: configuration that the sliders change.
            moved: called after each change, with a message for the user or "".
            wanted: selects the coordinates that get a slider; all by default.
        """
        self.page, self.posing = page, posing
        self.sliders: list[tuple[PoseCoordinate, Any]] = []
        self._moved = moved
        self._numbers: dict[PoseCoordinate, SharedNumber] = {}
        coordinates = [coordinate for coordinate in posing.coordinates if wanted(coordinate)]
        with page.gui.add_folder("joints"):
            self._add([coordinate for coordinate in coordinates if coordinate.leads])
        followers = [coordinate for coordinate in coordinates if not coordinate.leads]
        if followers:
            with page.gui.add_folder("joints that follow", expand_by_default=len(followers) <= 6):
                self._add(followers)

    def _add(self, coordinates: list[PoseCoordinate]) -> None:
        for coordinate in coordinates:
            is_angle, unit = coordinate.is_angle, "deg" if coordinate.is_angle else "m"
            value = shown(self.posing.value(coordinate), is_angle)
            limits = slider_range(shown(coordinate.lower, is_angle), shown(coordinate.upper, is_angle), is_angle)
            low, high, step = limits = limits.including(value)
            slider = self.page.gui.add_slider(
                f"{coordinate.label} [{unit}]", low, high, step, limits.nearest(value), disabled=not coordinate.leads
            )
            self.sliders.append((coordinate, slider))
            self._numbers[coordinate] = SharedNumber(slider)
            if coordinate.leads:
                self.page.when(slider, partial(self.move, coordinate))

    def move(self, coordinate: PoseCoordinate) -> None:
        """Apply a slider; it returns to the last reachable value if the loops cannot be closed."""
        number = self._numbers[coordinate]
        wanted = number.read()
        if not number.control.min <= wanted <= number.control.max:
            return  # incomplete typed number; the browser clips the final value to the range
        arrived = self.posing.move(coordinate, math.radians(wanted) if coordinate.is_angle else wanted)
        unit = "deg" if coordinate.is_angle else "m"
        self._moved(
            ""
            if arrived
            else f"**{coordinate.label}** cannot reach {wanted:.4g} {unit} with the loops closed; "
            f"it stops at {shown(self.posing.value(coordinate), coordinate.is_angle):.4g} {unit}."
        )

    def show(self) -> None:
        """Set all sliders to the present configuration."""
        for coordinate, number in self._numbers.items():
            number.show(shown(self.posing.value(coordinate), coordinate.is_angle))
