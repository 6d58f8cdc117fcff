# SPDX-License-Identifier: Apache-2.0
"""Every way to install the package brings its data files and the command `ada`; bills of material are closed."""

import ast
import json
import os
import re
import runpy
import shutil
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from installing import PACKAGES, build_wheel, copy_of, new_environment, pip, run, run_to_end
from paths import ROOT

# One file more per folder than the checkout has, so that a folder which is still empty is tried, too.
DATA = {"urdf": "robots/extra.urdf", "config": "extra.yaml", "launch": "extra.launch.py"}
ASK = """
import json
from ada_dynamics import resources
print(json.dumps({kind: {name: resources.find(kind, name).read_text() for name in resources.names(kind)
                         if name.split("/")[-1].startswith("extra.")} for kind in ("urdf", "config", "launch")}))
"""


NODES = {
    "loop_state_publisher",
    *(f"{name}_node" for name in ["controller", "dynamics", "hardware", "oracle", "target", "view"]),
}


@dataclass
class Installed:
    """How to run a program where the package is installed, its Python, and the folder of its executables."""

    sourced: list[str]
    python: Path
    scripts: Path
    by_colcon: bool = False

    def node(self, name):
        return [self.scripts / name] if self.by_colcon else [self.python, "-m", "ada_tools.nodes", name]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(copy_of_checkout(tmp_path_factory.mktemp("wheel") / "source"))


def copy_of_checkout(folder):
    """The checkout with one more file in each folder of data."""
    copy_of(folder, *DATA)
    for kind, name in DATA.items():
        path = folder / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kind)
    return folder


def by_wheel(source, environment, tmp_path):
    pip(environment, build_wheel(source))
    shutil.rmtree(source)
    return Installed([], environment, environment.parent)


def editable(source, environment, tmp_path):
    pip(environment, "--no-build-isolation", "--editable", source)
    return Installed([], environment, environment.parent)


def by_colcon(source, environment, tmp_path, *options):
    pytest.importorskip("colcon_core", reason="colcon is in the extra `dev`")
    run(environment, "-m", "colcon", "build", "--base-paths", source, *options, cwd=tmp_path)
    sourced = f'PATH={environment.parent}:$PATH; . {tmp_path}/install/local_setup.sh && exec "$@"'
    return Installed(["sh", "-c", sourced, "sh"], environment, tmp_path / "install/ada_dynamics/lib/ada_dynamics", True)


def by_colcon_with_links(source, environment, tmp_path):
    return by_colcon(source, environment, tmp_path, "--symlink-install")


@pytest.fixture(scope="module", params=[by_wheel, editable, by_colcon, by_colcon_with_links])
def installed(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.__name__)
    return request.param(copy_of_checkout(folder / "source"), new_environment(folder), folder)


def test_data_files_are_found_and_executables_are_where_users_look(installed):
    found = json.loads(run(*installed.sourced, installed.python, "-c", ASK, cwd="/"))
    assert found == {kind: {name: kind} for kind, name in DATA.items()}
    for name in ("ada", *(NODES if installed.by_colcon else ())):
        assert os.access(installed.scripts / name, os.X_OK), name
    assert run(*installed.sourced, installed.scripts / "ada", "--version", cwd="/").startswith("ada_dynamics ")
    # on everybody's path there is nothing but ada
    if installed.by_colcon:  # that folder is the package's own
        assert installed.scripts.parts[-2:] == ("lib", "ada_dynamics")
        return
    installed_here = {path.name for path in installed.scripts.iterdir()}
    ours = {name for name in installed_here if not name.lower().startswith(("python", "activate"))}
    assert ours == {"ada"}


@pytest.mark.ros
def test_an_installed_node_starts_and_refuses_a_wrong_parameter(installed):
    pytest.importorskip("rclpy")
    node = installed.node("dynamics_node")
    result = run_to_end(*installed.sourced, *node, "--ros-args", "-p", "physics_rate:=-5.0", cwd="/", code=2)
    assert "physics_rate" in result.stderr
    assert "Traceback" not in result.stderr


def imported_modules(paths):
    """Top-level names of all modules imported anywhere in these files, standard library and own ones left out."""
    found = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - set(PACKAGES)


def test_every_module_and_definition_of_a_message_of_the_checkout_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".data/" not in name}
    for ending in (".py", ".msg"):
        files = (path for package in PACKAGES for path in (ROOT / package).rglob(f"*{ending}"))
        assert {name for name in names if name.endswith(ending)} == {
            path.relative_to(ROOT).as_posix() for path in files
        }


def test_the_experiments_are_a_wheel_of_their_own_that_brings_their_command(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    source = shutil.copytree(ROOT / "experiments", tmp_path / "experiments", ignore=ignored)
    environment = new_environment(tmp_path)
    pip(environment, "--no-build-isolation", copy_of_checkout(tmp_path / "source"))
    ada = environment.parent / "ada"
    message = run_to_end(ada, "reproduce", "--list", cwd="/", code=2).stderr
    assert "the experiments are not installed: pip install" in message
    assert "pip install" in run(ada, "--help", cwd="/")
    pip(environment, build_wheel(source))
    scenarios = {path.stem for path in (ROOT / "experiments/ada_experiments/data").glob("*.yaml")}
    assert {one["name"] for one in json.loads(run(ada, "reproduce", "--list", "--json", cwd="/"))} == scenarios


def test_one_small_typed_wheel_serves_every_platform_and_python(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size <= 3_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    assert {f"{package}/py.typed" for package in PACKAGES} <= {*names}
    for version in ("3.10", "3.11", "3.12", "3.13", "3.14"):
        assert f"Classifier: Programming Language :: Python :: {version}" in lines
    assert "Classifier: Typing :: Typed" in lines


def test_the_same_source_makes_the_same_wheel(wheel, tmp_path):
    again = copy_of_checkout(tmp_path / "elsewhere")
    for path in again.rglob("*"):
        os.utime(path, (1.0e9, 1.0e9))
    assert build_wheel(again).read_bytes() == wheel.read_bytes()


def test_every_imported_module_is_a_declared_dependency(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        text = archive.read(metadata).decode()
    by_pip = {re.split(r"[^\w.-]", line)[0].lower() for line in re.findall(r"(?m)^Requires-Dist: (.*)$", text)}
    by_rosdep = {tag.text for tag in ElementTree.parse(ROOT / "package.xml").iter("exec_depend")}

    files = [path for package in (*PACKAGES, "launch") for path in (ROOT / package).rglob("*.py")]
    names = {"yaml": "pyyaml", "pinocchio": "pin", "pink": "pin-pink", "serial": "pyserial", "PIL": "pillow"}
    names |= {"mpl_toolkits": "matplotlib", "imageio_ffmpeg": "imageio-ffmpeg"}
    undeclared = {names.get(module, module) for module in imported_modules(files)} - by_pip - by_rosdep
    # Not on PyPI and not in every ROS distribution: imported where present.
    assert undeclared <= {"control_msgs", "simulation_interfaces"}


@pytest.mark.parametrize("extra", ["", "test", "view"])
def test_a_bill_is_closed_in_itself(extra):
    pytest.importorskip("packaging", reason="packaging is not installed: pip install '.[dev]'")
    bill = json.loads(json.dumps(runpy.run_path(str(ROOT / "tools/sbom.py"))["bill"](extra)))
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    parts = [bill["metadata"]["component"], *bill["components"]]
    references = [part["bom-ref"] for part in parts]
    assert len(set(references)) == len(references)
    assert all(part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}" for part in parts)
    assert {each["ref"] for each in bill["dependencies"]} == set(references)
    assert {other for each in bill["dependencies"] for other in each["dependsOn"]} <= set(references)
    names = {part["name"] for part in parts}
    assert {"ada-dynamics", "numpy", "llvmlite", "pyyaml"} <= names
    assert ("pytest" in names) is (extra == "test")
