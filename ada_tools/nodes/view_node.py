# SPDX-License-Identifier: Apache-2.0
"""View node: serves a browser page that displays a robot from its topics and sends requests; imports rclpy.

    python -m ada_tools.nodes.view_node --ros-args -p port:=8081

rclpy spins in one thread and the page runs in another; only the page thread accesses the robot and the page.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node

from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_tools.browser.page import Page
from ada_tools.browser.remote import RemotePage
from ada_tools.nodes.settings import ViewSettings
from ada_tools.nodes.view.robot_link import ControllerLink, RobotLink

_PATIENCE = 5.0  # [s] timeout for the last frame


class ViewNode(Node):
    """Serves the page; all displayed data come from topics.

    Attributes:
        page: served page.
        shown: content of the page, for the page thread only.
        failure: unexpected exception of the page thread.
    """

    def __init__(self, *, open_page: Callable[[str, str, int], Page] = Page, **options: Any) -> None:
        """Start the server.

        Args:
            open_page: creates the page from title, host and port.
            options: options of `rclpy.node.Node`, such as context.

        Raises:
            InputError: invalid parameter, viser is missing, or the port is not available.
        """
        super().__init__("view_node", **options)
        self.failure: Exception | None = None
        settings = Parameters(self, ViewSettings).value
        refuse_unknown_overrides(self)
        prefix = settings.frame_prefix
        self.page = open_page(settings.plant, settings.host, settings.port)
        # A daemon thread never keeps the process alive.
        self._thread = threading.Thread(target=self._run_page, name="page", daemon=True)
        try:
            names = settings.plant, settings.hardware
            self.link = RobotLink(self, names, settings.state_topic, self.page.note, prefix)
            self.controller = ControllerLink(self, settings.controller, prefix)
            self.shown = RemotePage(
                self.page,
                self.link,
                base=settings.base,
                pose_sliders=settings.pose_sliders,
                follower=self.controller,
            )
            self.page.invite(settings.open_browser)
            self._thread.start()
        except BaseException:  # including signals before the node is complete
            self.page.close()
            raise

    def _run_page(self) -> None:
        try:
            self.page.run(self.shown.tick)
        except Exception as problem:
            self.failure = problem

    def close(self) -> None:
        """Stop the page and release its port."""
        self.page.end()
        self._thread.join(_PATIENCE)
        self.page.close()
        self.shown.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node and return the exit code."""
    return run_node(ViewNode, arguments)


if __name__ == "__main__":
    sys.exit(main())
