# SPDX-License-Identifier: Apache-2.0
"""The view node for browsers that draw without a GPU: `python -m outer.view`, with the arguments of a node."""

from __future__ import annotations

import sys
from typing import Any

from chromium import plain_light

from ada_robot.ros.run_node import run_node
from ada_tools.nodes.view_node import ViewNode


class PlainView(ViewNode):
    """Lamps that are quick to draw."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        plain_light(self.page)


if __name__ == "__main__":
    sys.exit(run_node(PlainView))
