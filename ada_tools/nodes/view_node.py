# SPDX-License-Identifier: Apache-2.0
"""View node: serves a browser page that displays a robot from its topics and sends requests; imports rclpy.

    python -m ada_tools.nodes.view_node --ros-args -p port:=8081

rclpy spins in one thread and the page runs in another; only the page thread accesses the robot and the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node

from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_tools.browser.page import Page
from ada_tools.browser.remote import RemotePage
from ada_tools.nodes.settings import ViewSettings
from ada_tools.nodes.view.robot_link import ControllerLink, RobotLink


class ViewNode(Node):
    """Serves the page; all displayed data come from topics.

    Attributes:
        page: served page.
        shown: content of the page, for the page thread only.
    """

    def __init__(self, *, open_page: Callable[[str, str, int], Page] = Page, **options: Any) -> None:
        """Start the server.

        Raises:
            InputError: invalid parameter, viser is missing, or the port is not available.
        """
        super().__init__("view_node", **options)
        settings = Parameters(self, ViewSettings).value
        refuse_unknown_overrides(self)
        prefix = settings.frame_prefix
        self.page = open_page(settings.plant, settings.host, settings.port)
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
            self.page.start(self.shown.tick)
        except BaseException:  # including signals before the node is complete
            self.page.close()
            raise

    @property
    def failure(self) -> Exception | None:
        """Unexpected exception of the page thread, for `run_node`."""
        return self.page.failure

    def close(self) -> None:
        """Stop the page and release its port."""
        self.page.close()
        self.shown.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node and return the exit code."""
    return run_node(ViewNode, arguments)


if __name__ == "__main__":
    sys.exit(main())
