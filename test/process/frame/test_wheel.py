# SPDX-License-Identifier: Apache-2.0
"""A wheel of the checkout, installed into an empty environment that borrows the dependencies of this one."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
FILES = ["setup.py", "setup.cfg", "pyproject.toml", "package.xml", "LICENSE", "resource"]


def run(*command, cwd=None):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), env=environment, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.smoke
def test_the_wheel_alone_lists_its_robots(tmp_path):
    source = tmp_path / "source"  # building leaves files behind
    source.mkdir()
    for path in [*(REPOSITORY / name for name in FILES), *REPOSITORY.glob("ada_*")]:
        if path.is_dir():
            shutil.copytree(path, source / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.exists():
            shutil.copy(path, source)
    pip = (sys.executable, "-m", "pip")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, source)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    Path(site, "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    run(*pip, "--python", python, "install", "--no-index", "--no-deps", wheel)
    assert "pa10" in run(tmp_path / "venv/bin/ada", "list", cwd=tmp_path)
    assert run(python, "-c", "import ada_dynamics; print(ada_dynamics.__file__)", cwd=tmp_path).startswith(site)
