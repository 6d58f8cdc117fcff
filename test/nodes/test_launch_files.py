# SPDX-License-Identifier: Apache-2.0
"""Launch files: what can be checked without ROS's launch and, where launch_ros is installed, real launches."""

import ast
import runpy
import sys
from pathlib import Path

import pytest

from ada_dynamics import resources
from ada_dynamics.bringup import SETUPS, Machine, plan

FILES = [name for name in resources.names("launch") if name.endswith(".launch.py")]
SETUP_PY = Path(__file__).parents[2] / "setup.py"


def calls_of(tree):
    return [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


@pytest.fixture(scope="module")
def entry_points():
    """Executables by name with what they call, as setup.py has them."""
    given = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", lambda **keywords: given.update(keywords))
        patch.setattr("sys.argv", ["setup.py", "install"])  # as colcon asks: only there nodes are executables
        patch.chdir(SETUP_PY.parent)
        runpy.run_path(str(SETUP_PY))
    return dict(line.split(" = ") for line in given["entry_points"]["console_scripts"])


def test_each_setup_has_a_launch_file_and_there_are_no_others():
    assert sorted(setup.launch_file for setup in SETUPS.values()) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_launch_file_describes_the_setup_of_its_name(name):
    path = resources.find("launch", name)
    tree = ast.parse(path.read_text(encoding="utf-8"), name)
    compile(tree, name, "exec")
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions == ["generate_launch_description"]
    assert calls_of(tree) == [f"describe('{name.removesuffix('.launch.py')}')"]


@pytest.mark.parametrize("setup", SETUPS.values(), ids=lambda setup: setup.name)
def test_what_a_launch_file_starts_is_installed(setup, entry_points):
    wanted = {"oracle": "true", "view": "true", "rviz": "true", "record": "run.mcap", "backend": "emulator"}
    names = {argument.name for argument in setup.arguments}
    what = plan(setup, {name: value for name, value in wanted.items() if name in names}, Machine(True, True))
    for process in what.processes:
        if process.package == "ada_dynamics":
            assert entry_points[process.executable] == f"ada_dynamics.nodes.executables:{process.executable}"
        else:
            assert process.package == "rviz2"
            assert Path(process.arguments[process.arguments.index("-d") + 1]).is_file()


# --- with ROS's launch ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def launching():
    """Modules of ROS's launch; it is not on PyPI."""
    # launch itself proves nothing: in a checkout, the folder launch/ passes for a package of that name.
    pytest.importorskip("launch_ros", reason="ROS's launch is not installed")
    launch = pytest.importorskip("launch")
    pytest.importorskip("launch.actions")
    return launch


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
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *words = sys.argv[1:]
arguments = [tuple(word.split(":=", 1)) for word in words]
included = IncludeLaunchDescription(PythonLaunchDescriptionSource(path), launch_arguments=arguments)
service = LaunchService(argv=words)
service.include_launch_description(LaunchDescription([included]))
sys.exit(service.run())
"""


@pytest.fixture
def start_launch(launching, ros):
    """Starts a launch file with arguments, as `ros2 launch` does."""

    def start(name, *words):
        path = resources.find("launch", f"{name}.launch.py")
        return ros.start(sys.executable, "-c", LAUNCH, path, *words)

    return start


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
    ros.wait(lambda: len(found) > 2 or not process.is_running, 90, "joint states or wrenches")
    assert process.is_running, process.output
    assert process.stop(30) == 0, process.output
    count = len(plan(name, words, Machine(False, False)).processes)
    assert process.output.count("process has finished cleanly") == count, process.output
    assert "Traceback" not in process.output
    assert "Caught exception" not in process.output


@pytest.mark.ros
def test_a_real_device_without_an_address_ends_a_launch_with_what_to_do(start_launch):
    process = start_launch("pa10_bringup", "view:=false", "rviz:=false")
    assert process.wait(30) == 1
    assert "url is not set" in process.output and "backend:=emulator" in process.output


@pytest.mark.ros
@pytest.mark.slow
def test_arguments_that_were_given_win_over_the_file_of_parameters_and_the_others_do_not(start_launch, ros, tmp_path):
    from rcl_interfaces.srv import GetParameters
    from sensor_msgs.msg import JointState

    file = tmp_path / "own.yaml"
    text = "{idle: hold, real_time_factor: 0.5, physics_rate: 500.0}"
    file.write_text(f"dynamics_node: {{ros__parameters: {text}}}")
    process = start_launch("pa10_sim", "view:=false", "rviz:=false", f"params_file:={file}", "idle:=release")
    states = ros.collect(JointState, "joint_states")
    ros.wait(lambda: states or not process.is_running, 60, "joint states")
    assert process.is_running, process.output
    names = ["idle", "real_time_factor", "physics_rate", "use_sim_time", "wrenches"]
    answer = ros.call(GetParameters, "/dynamics_node/get_parameters", GetParameters.Request(names=names))
    idle, factor, rate, sim_time, wrenches = answer.values
    assert (idle.string_value, factor.double_value, rate.double_value) == ("release", 0.5, 500.0)
    assert not sim_time.bool_value
    assert list(wrenches.string_array_value) == ["s1", "s2", "e1", "w1"]
    assert process.stop(20) == 0, process.output


@pytest.mark.ros
@pytest.mark.slow
def test_a_robots_node_that_fails_ends_the_launch_with_its_reason(start_launch, tmp_path):
    robot = tmp_path / "broken.urdf"
    robot.write_text("<robot name='broken'><link name='a'/><link name='b'/></robot>")
    process = start_launch("display", "view:=false", "rviz:=false", f"robot:={robot}")
    process.wait(60)
    assert "broken.urdf" in process.output
    assert "dynamics_node has ended" in process.output or "was required" in process.output


@pytest.mark.ros
@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["view_port:=many"], "view_port:=many: it must be a port"),
        (["idle:=stand"], "Valid options are: ['hold', 'release']"),
        (["record:=/none/run.mcap"], "folder that exists"),
    ],
)
def test_an_unusable_argument_ends_a_launch_with_what_is_allowed(start_launch, words, part):
    process = start_launch("pa10_sim", "view:=false", "rviz:=false", *words)
    assert process.wait(30) == 1
    assert part in process.output
