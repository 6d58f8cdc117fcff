# SPDX-License-Identifier: Apache-2.0
"""Launch files: what can be checked without ROS's launch and, where launch_ros is installed, real launches."""

import ast
import os
import re
import runpy
import signal
import sys
from pathlib import Path

import pytest

from ada_dynamics import resources
from ada_tools.bringup import SETUPS, Machine, plan

FILES = [name for name in resources.names("launch") if name.endswith(".launch.py")]
SETUP_PY = Path(__file__).parents[3] / "setup.py"


def packaging(*words):
    given = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", lambda **keywords: given.update(keywords))
        patch.setattr("sys.argv", ["setup.py", *words])
        patch.chdir(SETUP_PY.parent)
        runpy.run_path(str(SETUP_PY))
    return given


@pytest.fixture(scope="module")
def entry_points():
    """Executables by name with what they call, as colcon asks for them: only there nodes are some."""
    return dict(line.split(" = ") for line in packaging("install")["entry_points"]["console_scripts"])


def test_each_setup_has_a_launch_file_and_there_are_no_others():
    assert sorted(setup.launch_file for setup in SETUPS.values()) == FILES


@pytest.mark.parametrize("setup", SETUPS.values(), ids=lambda setup: setup.name)
def test_a_launch_file_describes_and_starts_its_setup(setup):
    tree = ast.parse(resources.find("launch", setup.launch_file).read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) == f"{setup.summary}."
    calls = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert calls == [f"launch_description('{setup.name}')"]


@pytest.mark.parametrize("setup", SETUPS.values(), ids=lambda setup: setup.name)
def test_what_a_launch_file_starts_is_installed(setup, entry_points):
    wanted = {"oracle": "true", "view": "true", "rviz": "true", "backend": "emulator"}
    names = {argument.name for argument in setup.arguments}
    what = plan(setup, {name: value for name, value in wanted.items() if name in names}, Machine(True, True))
    for process in what.processes:
        if process.package == "ada_dynamics":
            assert entry_points[process.executable] == f"ada_tools.nodes.executables:{process.executable}"
        else:
            assert process.package == "rviz2"
            assert Path(process.arguments[process.arguments.index("-d") + 1]).is_file()


@pytest.fixture(scope="module")
def launching():
    # launch itself proves nothing: in a checkout, the folder launch/ passes for a package of that name.
    pytest.importorskip("launch_ros", reason="ROS's launch is not installed")
    launch = pytest.importorskip("launch")
    pytest.importorskip("launch.actions")
    return launch


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """A prefix with links to all that pip would install in it, so that ROS finds the package of this checkout."""
    root = tmp_path_factory.mktemp("prefix")
    for folder, files in packaging("bdist_wheel")["data_files"]:
        (root / folder).mkdir(parents=True, exist_ok=True)
        for file in files:
            (root / folder / Path(file).name).symlink_to(SETUP_PY.parent / file)
    python = root / "bin/python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return root


@pytest.mark.ros
@pytest.mark.parametrize("setup", SETUPS.values(), ids=lambda setup: setup.name)
def test_the_arguments_that_launch_shows_are_those_of_the_setup(launching, setup):
    namespace = runpy.run_path(str(resources.find("launch", setup.launch_file)))
    declared = namespace["generate_launch_description"]().get_launch_arguments()
    assert [one.name for one in declared] == [argument.name for argument in setup.arguments]
    for one, argument in zip(declared, setup.arguments, strict=True):
        assert "".join(part.text for part in one.default_value) == argument.default
        assert one.description.startswith(argument.description)
        assert tuple(one.choices or ()) == argument.choices


LAUNCH = """
import sys
from ros2cli.cli import main
sys.argv[0] = "ros2"
sys.exit(main())
"""


@pytest.fixture
def ros2_launch(launching, prefix, ros):
    pytest.importorskip("ros2launch", reason="ROS's command line is not installed")
    before = ros.environment["AMENT_PREFIX_PATH"]
    ros.environment["AMENT_PREFIX_PATH"] = f"{prefix}:{before}"
    ros.environment["PYTHONPATH"] = os.pathsep.join([str(SETUP_PY.parent), *filter(None, sys.path)])
    return lambda *words: ros.start(sys.executable, "-c", LAUNCH, "launch", *words, cwd="/")


@pytest.fixture
def start_launch(ros2_launch):
    return lambda name, *words: ros2_launch("ada_dynamics", f"{name}.launch.py", *words)


def words_of(setup):
    """Arguments with which a setup runs anywhere: nothing to be seen, and devices emulated."""
    wanted = {"view": "false", "rviz": "false", "oracle": "true", "namespace": "cell", "backend": "emulator"}
    names = {argument.name for argument in setup.arguments}
    if setup.name == "pa10_control":
        wanted["backend"] = "sim"
    return {name: value for name, value in wanted.items() if name in names}


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.parametrize("name", SETUPS)
def test_a_launch_starts_a_robot_or_a_sensor_and_an_interrupt_ends_it(name, start_launch, ros, tmp_path):
    from geometry_msgs.msg import WrenchStamped
    from sensor_msgs.msg import JointState

    ros.environment["XDG_STATE_HOME"] = str(tmp_path)  # for flight records
    is_sensor = name == "ft_sensor"
    found = ros.collect(
        WrenchStamped if is_sensor else JointState, f"/cell/{'wrench' if is_sensor else 'joint_states'}"
    )
    words = words_of(SETUPS[name])
    process = start_launch(name, *(f"{argument}:={value}" for argument, value in words.items()))
    ros.wait(lambda: len(found) > 2 or not process.is_running, what="joint states or wrenches")
    assert process.is_running, process.output
    assert process.stop() == 0, process.output
    count = len(plan(name, words, Machine(False, False)).processes)
    assert process.output.count("process has finished cleanly") == count, process.output
    assert "Traceback" not in process.output
    assert "Caught exception" not in process.output


@pytest.mark.ros
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_required_node_that_ends_by_itself_ends_the_launch_with_1_and_all_other_nodes(number, start_launch, ros):
    from sensor_msgs.msg import JointState

    found = ros.collect(JointState, "joint_states")
    process = start_launch("closed_chain_control", "view:=false", "rviz:=false")
    ros.wait(lambda: found or not process.is_running, what="joint states")
    assert process.is_running, process.output
    started = dict(re.findall(r"\[(\w+)-\d\]: process started with pid \[(\d+)\]", process.output))
    assert started.keys() == {"dynamics_node", "controller_node", "target_node"}
    os.kill(int(started["dynamics_node"]), number)
    assert process.wait() == 1, process.output
    assert "dynamics_node-1 is required and exited with code" in process.output
    assert not any(Path(f"/proc/{pid}").exists() for pid in started.values())
