# SPDX-License-Identifier: Apache-2.0
"""Browser views: joint sliders, log playback, and a running simulation with interactive pushes."""

from __future__ import annotations

from ada_tools.browser.live import live
from ada_tools.browser.page import Page
from ada_tools.browser.playback import play
from ada_tools.browser.pose_page import pose
from ada_tools.browser.scene import Scene

__all__ = ["Page", "Scene", "live", "play", "pose"]
