# SPDX-License-Identifier: Apache-2.0
"""Pages that are made from code are up to date, and those on safety and security name tests that exist."""

import re

import bounded_reading
import pytest
from paths import ROOT, docs_module

from ada_controllers import CONTROLLERS
from ada_dynamics import resources
from ada_dynamics.drawing import mesh_files
from ada_dynamics.robots.readers import xml
from ada_dynamics.simulation.record import mcap_files
from ada_dynamics.structured_text import yaml_text

DOCS = ROOT / "docs"
MB = 2**20


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


def rows(page, heading):
    section = text_of(page).split(f"## {heading}")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and "---" not in line][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_tables_of_alarms_are_up_to_date():
    made = docs_module("alarm_tables")
    for page in made.TABLES:
        assert made.renewed(page, text_of(page)) == text_of(page), "run: python docs/alarm_tables.py"


@pytest.mark.parametrize("name", ["controller_tables", "parameter_tables"])
def test_the_tables_of_controllers_and_parameters_are_up_to_date(name):
    made = docs_module(name)
    pages = [made.PAGE] if name == "controller_tables" else sorted(made.PAGES.glob("*_node*.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert made.renewed(text) == text, f"run: python docs/{name}.py"
    for table in made.settings_of_nodes() if name == "parameter_tables" else CONTROLLERS:
        assert f"s: {table} -->\n|" in text, table


def test_every_controller_has_a_section_of_its_own():
    assert re.findall(r"^### (\w+)$", text_of("controllers.md"), re.MULTILINE) == list(CONTROLLERS)


def test_the_file_of_parameters_is_up_to_date():
    made = docs_module("parameter_tables")
    text = resources.find("config", made.NAME).read_text(encoding="utf-8")
    assert text == made.render(), f"run `{made.MADE_BY}`"


def test_the_page_on_architecture_names_what_is_there():
    files = ["/" + path.relative_to(ROOT).as_posix() for path in ROOT.glob("ada_*/**/*.py")]
    for place in re.findall(r"`([\w/]+\.py)`", text_of("architecture.md")):
        assert (ROOT / place).exists() or any(file.endswith(f"/{place}") for file in files), place
    folders = [path.parent.name for one in ("ada_dynamics", "ada_robot") for path in (ROOT / one).glob("*/__init__.py")]
    assert not [folder for folder in folders if f"`{folder}/`" not in text_of("architecture.md")]


def test_commands_are_judged_at_the_three_places_of_the_page_on_architecture():
    _, _, rest = text_of("architecture.md").partition("## A command, from a controller to the device")
    steps = [line.split("|")[1].strip() for line in rest.partition("\n## ")[0].splitlines() if "(**checks**)" in line]
    assert steps == ["2", "7", "10-11"]
    judges = re.compile(r"self\.\w+ = (?:Shaper|CommandGuard|JointCommands|DemandGuard)\(")
    places = {
        path.relative_to(ROOT).as_posix()
        for folder in ("ada_controllers", "ada_robot", "ada_hardware/node")
        for path in (ROOT / folder).rglob("*.py")
        if judges.search(path.read_text(encoding="utf-8"))
    }
    # the simulated robot has the guard of its node only
    nodes = {"ada_robot/node/robot_topics.py", "ada_robot/node/command_inputs.py"}
    assert places == {"ada_controllers/controller.py", *nodes, "ada_robot/safety/safe_cycle.py"}


@pytest.mark.parametrize(
    ("page", "heading", "column"), [("safety_scope.md", "Hazards", 2), ("security.md", "Boundaries", 3)]
)
def test_each_hazard_and_boundary_has_a_mechanism_and_tests_that_exist(page, heading, column):
    for row in rows(page, heading):
        assert all(row)
        names = re.findall(r"`(test_\w+\.py)`", row[column])
        assert names, row[0]
        for name in names:
            assert list((ROOT / "test").rglob(name)), name


def test_the_figures_are_those_of_the_code():
    words = text_of("security.md").split("Reading a file may use")[1].split("\n## ")[0]
    said = [int(number) for number in re.findall(r"(\d+)(?= MB| times the size| s of)", words)]
    texts, chunks = yaml_text.MAX_CHARACTERS / MB, mcap_files.MOST_IN_CHUNK / MB
    assert mesh_files.MAX_BYTES == xml.MAX_BYTES
    bounds = bounded_reading.MEMORY / MB, bounded_reading.MEMORY_PER_BYTE, bounded_reading.SECONDS
    assert said == [*bounds, xml.MAX_BYTES / MB, texts, chunks]


def test_every_topic_and_service_of_the_robot_nodes_is_on_the_page():
    pages = [*(ROOT / "docs/ros").glob("*_node*.md"), ROOT / "docs/simulation_interfaces.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    rooms = ("ada_robot/node", "ada_hardware/node")
    files = [*(path for room in rooms for path in (ROOT / room).glob("*.py"))]
    code = "\n".join(file.read_text(encoding="utf-8") for file in [*files, ROOT / "ada_robot/ros/diagnostics.py"])
    made = r"create_(?:publisher|subscription|service)\(|(?:Inbox|PolledService)\((?:self|node), "
    calls = re.findall(rf"(?:{made})\w+, f?\"([^\"{{]+)", code.replace("{prefix}", ""))
    assert {"~/stop", "~/reset", "~/state", "~/commanded", "joint_commands", "/tf"} <= set(calls)
    assert len(calls) >= 20
    for name in calls:
        assert name.rstrip("/") in text, f"{name} is not on the page"
