# SPDX-License-Identifier: Apache-2.0
"""Data files are found in every layout, and a wrong name is answered with the right ones."""

from pathlib import Path

import pytest

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
def root(tmp_path, monkeypatch):
    """A checkout."""
    monkeypatch.setattr(resources, "_PACKAGE", package_folder(tmp_path / "ada_dynamics"))
    return data_folder(tmp_path)


def test_a_checkout_is_its_own_data_folder(root):
    assert resources.find("urdf", "pa10.urdf") == root / "urdf/pa10.urdf"


@pytest.mark.parametrize(
    "site",
    [
        pytest.param("lib/python3.12/site-packages", id="prefix or virtual environment"),
        pytest.param("local/lib/python3.12/dist-packages", id="Debian"),
        pytest.param("Lib/site-packages", id="Windows"),
        pytest.param(".", id="pip install --target"),
    ],
)
def test_an_installed_package_finds_share_below_its_prefix(tmp_path, monkeypatch, site):
    monkeypatch.setattr(resources, "_PACKAGE", package_folder(tmp_path / site / "ada_dynamics"))
    prefix = tmp_path / "local" if site.startswith("local") else tmp_path
    share = data_folder(prefix / "share/ada_dynamics")
    assert resources.find("config", "pa10.yaml") == share / "config/pa10.yaml"


def test_a_linked_package_finds_the_checkout_behind_the_link(tmp_path, monkeypatch):
    checkout = data_folder(tmp_path / "src")
    package_folder(checkout / "ada_dynamics")
    (tmp_path / "build").mkdir()
    (tmp_path / "build/ada_dynamics").symlink_to(checkout / "ada_dynamics")
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "build/ada_dynamics")
    assert resources.find("urdf", "pa10.urdf") == checkout / "urdf/pa10.urdf"


def test_another_installation_further_up_is_never_taken(tmp_path, monkeypatch):
    data_folder(tmp_path / "share/ada_dynamics")
    package = package_folder(tmp_path / "home/venv/lib/python3.12/site-packages/ada_dynamics")
    monkeypatch.setattr(resources, "_PACKAGE", package)
    with pytest.raises(AdaError, match="Install the package again") as caught:
        resources.names("urdf")
    assert str(tmp_path / "home/venv/share/ada_dynamics") in str(caught.value), "the message says where it looked"


def test_names_are_those_that_find_takes(root):
    assert resources.names("urdf") == ["meshes/foot.stl", "pa10.urdf"]
    assert all(resources.find("urdf", name).is_file() for name in resources.names("urdf"))


def test_byte_code_hidden_files_and_backups_are_no_data(root):
    for litter in ("urdf/__pycache__/a.pyc", "urdf/.hidden/b.urdf", "urdf/.c.urdf", "urdf/d.urdf~"):
        (root / litter).parent.mkdir(exist_ok=True)
        (root / litter).touch()
    assert resources.names("urdf") == ["meshes/foot.stl", "pa10.urdf"]


def test_a_kind_without_files_has_no_names(root):
    assert resources.names("launch") == []


def test_an_unknown_name_is_answered_with_the_near_ones_and_the_place(root):
    with pytest.raises(InputError, match=r"Did you mean 'pa10\.urdf'") as caught:
        resources.find("urdf", "pa1.urdf")
    assert str(root / "urdf") in str(caught.value)


def test_an_unknown_kind_is_answered_with_the_known_ones(root):
    with pytest.raises(InputError, match=r"'mesh'.*urdf, config, launch"):
        resources.names("mesh")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", ".", "meshes", "../package.xml", "meshes/../pa10.urdf", "/etc/hostname"])
def test_only_a_file_below_the_folder_has_a_name(root, name):
    with pytest.raises(InputError, match="no urdf file"):
        resources.find("urdf", name)
