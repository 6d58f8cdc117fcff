# SPDX-License-Identifier: Apache-2.0
"""The page on ROS 2 has the parameters as they are, and every topic and service of the dynamics node."""

import importlib.util
import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]


def tables():
    spec = importlib.util.spec_from_file_location("parameter_tables", REPOSITORY / "docs/parameter_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_parameters_are_up_to_date():
    made = tables()
    text = made.PAGE.read_text(encoding="utf-8")
    assert made.renewed(text) == text, "run: python docs/parameter_tables.py"
    for node in made.TABLES:
        assert text.count(f"<!-- parameters: {node} -->\n|") == 1


def test_every_topic_and_service_of_the_robot_nodes_is_on_the_page():
    pages = ("docs/ros2.md", "docs/simulation_interfaces.md")
    text = "".join((REPOSITORY / page).read_text(encoding="utf-8") for page in pages)
    rooms = ("ada_robot/node", "ada_hardware/node")
    files = [*(path for room in rooms for path in (REPOSITORY / room).glob("*.py"))]
    code = "\n".join(file.read_text(encoding="utf-8") for file in [*files, REPOSITORY / "ada_robot/ros/diagnostics.py"])
    made = r"create_(?:publisher|subscription|service)\(|(?:Inbox|PolledService)\((?:self|node), "
    calls = re.findall(rf"(?:{made})\w+, f?\"([^\"{{]+)", code.replace("{prefix}", ""))
    assert {"~/stop", "~/reset", "~/state", "~/commanded", "joint_commands", "/tf"} <= set(calls)
    assert len(calls) >= 20
    for name in calls:
        assert name.rstrip("/") in text, f"{name} is not on the page"
