# SPDX-License-Identifier: Apache-2.0
"""Virtual environments that see the ROS 2 wheels of this one through links, to build message packages into."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools/build_interfaces.py"
HAS_COMPILERS = all(map(shutil.which, ("gcc", "g++"))) and Path(sysconfig.get_path("include"), "Python.h").is_file()


def child_environment(**more):
    # This process' Python came from wheels, too, and left marks that another environment's Python must not see.
    marks = ("_ROS_WHEELS_BOOTSTRAP_COMPLETE", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "PYTHONPATH", "CC", "CXX")
    kept = {name: value for name, value in os.environ.items() if name not in marks}
    return {**kept, "ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF", **more}


def run(python, *arguments, code=0, **environment):
    result = subprocess.run(
        [str(python), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=child_environment(**environment),
        cwd="/",
    )
    assert result.returncode == code, f"{arguments}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result.stdout + result.stderr


def builder(*arguments):
    return (TOOL, *arguments)


def environment_of_links(root):
    run(sys.executable, "-m", "venv", "--without-pip", root)
    python = root / "bin/python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip())
    here = Path(sys.prefix)
    link_all(Path(sysconfig.get_path("platlib")), site)
    link_all(here / "lib", root / "lib", "python")
    link_all(here / "include", root / "include", "python")
    link_all(here / "share", root / "share", "ament_index")
    shutil.copytree(here / "share/ament_index", root / "share/ament_index")
    for path in (root / "share/ament_index").rglob("tf2_msgs"):
        path.unlink()
    return python


def link_all(source, target, but=" "):
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if not path.name.startswith((but, "tf2_msgs", "libtf2_msgs")) and not (target / path.name).exists():
            (target / path.name).symlink_to(path)


def site_of(python):
    (site,) = python.parents[1].glob("lib/python3*/site-packages")
    return site


def definitions(folder, **packages):
    """A folder of packages: name="kind/Type.kind" and its text."""
    for package, files in packages.items():
        for name, text in files.items():
            path = folder / package / name.rsplit(".", 1)[1] / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return folder
