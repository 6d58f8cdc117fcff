# SPDX-License-Identifier: Apache-2.0
"""The view in the browser: a robot with sliders, a log to play, a simulation that runs and can be pushed."""

from __future__ import annotations

from ada_tools.browser.live import live
from ada_tools.browser.page import Page
from ada_tools.browser.playback import play
from ada_tools.browser.pose_page import pose
from ada_tools.browser.scene import Scene

__all__ = ["Page", "Scene", "live", "play", "pose"]
