# SPDX-License-Identifier: Apache-2.0
"""Data files are found in every layout, and a wrong name is answered with the right ones."""

from pathlib import Path

import pytest
from refused import refused

from ada_dynamics import resources
from ada_dynamics.errors import AdaError, InputError


def data_folder(root: Path) -> Path:
    for file in ("package.xml", "urdf/pa10.urdf", "urdf/meshes/foot.stl", "config/pa10.yaml"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


def package_folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


@pytest.fixture
def root(tmp_path):
    return data_folder(tmp_path)


@pytest.mark.parametrize(
    "site",
    [
        pytest.param("lib/python3.12/site-packages", id="prefix or virtual environment"),
        pytest.param("local/lib/python3.12/dist-packages", id="Debian"),
        pytest.param("Lib/site-packages", id="Windows"),
        pytest.param(".", id="pip install --target"),
    ],
)
def test_an_installed_package_finds_share_below_its_prefix(tmp_path, site):
    prefix = tmp_path / "local" if site.startswith("local") else tmp_path
    share = data_folder(prefix / "share/ada_dynamics")
    assert resources.folder_of(package_folder(tmp_path / site / "ada_dynamics")) == share


def test_a_linked_package_finds_the_checkout_behind_the_link(tmp_path):
    checkout = data_folder(tmp_path / "src")
    package_folder(checkout / "ada_dynamics")
    (tmp_path / "build").mkdir()
    (tmp_path / "build/ada_dynamics").symlink_to(checkout / "ada_dynamics")
    assert resources.folder_of(tmp_path / "build/ada_dynamics") == checkout


def test_another_installation_further_up_is_never_taken(tmp_path):
    data_folder(tmp_path / "share/ada_dynamics")
    package = package_folder(tmp_path / "home/venv/lib/python3.12/site-packages/ada_dynamics")
    with pytest.raises(AdaError) as caught:
        resources.folder_of(package)
    assert tmp_path / "home/venv/share/ada_dynamics" in caught.value.allowed, "the places where it looked"


def test_names_are_those_that_find_takes_and_litter_is_no_data(root):
    for litter in ("urdf/__pycache__/a.pyc", "urdf/.hidden/b.urdf", "urdf/.c.urdf", "urdf/d.urdf~"):
        (root / litter).parent.mkdir(exist_ok=True)
        (root / litter).touch()
    assert resources.names("urdf", root) == ["meshes/foot.stl", "pa10.urdf"]
    assert resources.find("urdf", "pa10.urdf", root) == root / "urdf/pa10.urdf"
    assert resources.names("launch", root) == []


@pytest.mark.parametrize(
    "name", ["pa1.urdf", "", ".", "meshes", "../package.xml", "meshes/../pa10.urdf", "/etc/hostname"]
)
def test_only_a_file_below_the_folder_has_a_name(root, name):
    with refused(InputError, value=name, allowed=("meshes/foot.stl", "pa10.urdf")):
        resources.find("urdf", name, root)
