# SPDX-License-Identifier: Apache-2.0
"""The command line's check, info and list; urdfdom, the parser of RViz and ros2_control, reads what is published."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

import ada_dynamics as ada
from ada_dynamics._version import __version__
from ada_dynamics.robots.catalogue import entry
from ada_dynamics.robots.writers import SPELLINGS, Inexpressible, render
from ada_dynamics.simulation.record.recorder import description
from ada_tools import cli, commands
from ada_tools.commands import info

ARM = """<robot name="腕"><link name="base"><inertial><mass value="1"/>
<inertia ixx="0.9" iyy="0.9" izz="0.8" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="rod"><inertial><mass value="{}"/>
<inertia ixx="0.9" iyy="0.9" izz="0.8" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><origin xyz="1 1 1"/></joint></robot>"""


def test_version_is_printed(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize("command", commands.MODULES)
def test_every_command_explains_itself_with_examples(command, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main([command, "--help"])
    assert caught.value.code == 0
    assert f"ada {command}" in capsys.readouterr().out.split("Examples:")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["check"],
        ["info", "pa10", "--base", "flying"],
        ["info", "--mimic"],
        ["sim", "pa10", "--duration", "0"],
        ["up", "pa10", "--duration", "nan"],
    ],
)
def test_wrong_usage_has_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: ada" in capsys.readouterr().err


def test_check_has_code_1_for_errors_in_any_file(ada, write):
    code, out, _ = ada("check", write(ARM.format(1)))
    assert code == 0
    assert "0 errors, 0 warnings" in out
    code, out, _ = ada("check", write(ARM.format(1)), write(ARM.format(-1), "bad.urdf"))
    assert code == 1
    assert "invalid-value" in out


def test_check_strict_has_code_1_for_warnings(ada):
    assert ada("check", "pa10_thesis")[0] == 0
    assert ada("check", "pa10_thesis", "--strict")[0] == 1


def test_check_prints_json(ada, write):
    code, out, _ = ada("check", "--json", write(ARM.format(1)), write(ARM.format(-1), "bad.urdf"))
    reports = json.loads(out)
    assert code == 1
    assert [r["ok"] for r in reports] == [True, False]
    assert reports[0]["robot"] == "腕"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "no\nsuch.urdf"), ""),
        (("info", "pa10", "--arg", "prefix"), "NAME=VALUE"),
        ((), "ada check robot.urdf"),
    ],
)
def test_what_cannot_be_done_has_code_2_and_nothing_on_the_standard_output(ada, arguments, said):
    code, out, err = ada(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    if arguments:
        assert err.startswith("ada: error: ") and err.count("\n") == 1


def test_check_and_info_read_the_standard_input(ada, monkeypatch):
    for command in ("check", "info"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ARM.format(1).encode())))
        assert ada(command, "-")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code, _, err = ada("check", "-")
    assert code == 2
    assert "standard input contains no URDF" in err


def test_xacro_arguments_are_passed_on(ada):
    pytest.importorskip("xacro")
    code, out, _ = ada("info", "pa10", "--arg", "prefix=left_", "--arg", "lengths:=7c")
    assert code == 0
    assert "left_s1 (revolute z) -> left_link_1" in out


def test_info_indents_branches_and_not_chains():
    from ada_dynamics.model import Builder

    builder = Builder("r")
    for name in "abcdef":
        builder.link(name)
    for parent, child in ("ab", "bc", "cd", "ce", "ef"):
        builder.joint(f"{parent}{child}", "fixed", parent, child)
    assert info.tree_lines(builder.build()) == [
        "a",
        "| ab (fixed) -> b",
        "| bc (fixed) -> c",
        "|- cd (fixed) -> d",
        "`- ce (fixed) -> e",
        "   ef (fixed) -> f",
    ]


def test_info_prints_json_without_infinities(ada, write):
    code, out, _ = ada("info", "--json", "--base", "floating", write(ARM.format(1)))
    data = json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert code == 0
    assert (data["nq"], data["nv"]) == (8, 7)
    assert [j["q"] for j in data["joints"]] == [[0, 7], [7, 8]]
    assert data["joints"][1]["lower"] is None


def test_list_names_the_catalogue(ada):
    code, out, _ = ada("list")
    assert code == 0
    groups: dict[str, list[str]] = {}
    names: list[str] = []
    for line in out.splitlines():
        if line.startswith("  "):
            names.append(line.split()[0])
        else:
            groups[line.removesuffix(":")] = names = []
    assert groups["arms"][:3] == ["pa10", "pa10_7c", "pa10_thesis"]
    assert groups["parallel robots"] == ["delta", "hexa", "stewart"]
    listed = json.loads(ada("list", "--json")[1])
    assert {e["name"]: e["group"] for e in listed} == {name: key for key, own in groups.items() for name in own}


def test_control_c_ends_without_a_traceback(ada, monkeypatch):
    class Interrupted(io.RawIOBase):
        def read(self, size=-1):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Interrupted()))
    code, _, err = ada("info", "-")
    assert (code, err) == (130, "ada: interrupted\n")


WITHOUT_GYM = "import sys; sys.modules['gymnasium'] = None; import ada_dynamics as ada"


@pytest.mark.parametrize(
    "code",
    [
        "import sys, ada_dynamics as ada; names = dir(ada); assert {'load', 'robots'} <= {*names};"
        "assert 'ada_dynamics.simulation' not in sys.modules and 'numpy' not in sys.modules;"
        "assert ada.simulation.Simulation is ada.Simulation",
        f"{WITHOUT_GYM}; assert not hasattr(ada, 'gym')",
    ],
    ids=["names are offered without being loaded", "a package whose framework is missing is not there"],
)
def test_the_library_is_imported_lazily(code):
    subprocess.run([sys.executable, "-c", code], check=True)


def process(*arguments: str, **options) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ada_tools.cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_a_reader_that_goes_away_is_no_error():
    one = process("info", "pa10", "--json")
    assert one.stdout is not None and one.stderr is not None
    one.stdout.close()
    assert one.wait(60) in {0, 141}
    assert one.stderr.read() == b""


def test_names_that_the_terminal_lacks_do_not_crash_it(write):
    path = write(ARM.format(1))
    one = process("info", path, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    out, err = one.communicate(timeout=60)
    assert (one.returncode, err) == (0, b"")
    assert b"? [1 kg]" not in out and b"pivot" in out


CHECK_URDF = shutil.which("check_urdf")
needs_urdfdom = pytest.mark.skipif(CHECK_URDF is None, reason="check_urdf is missing: apt-get install liburdfdom-tools")


def check(text, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text(text, encoding="utf-8")
    return subprocess.run([CHECK_URDF, file], capture_output=True, text=True)


@needs_urdfdom
def test_urdfdom_reads_the_description_and_all_files_of_every_robot_of_the_catalogue(tmp_path):
    for name in ada.robots():
        model = ada.load(name)
        texts = [description(model), entry(name).path.read_text(encoding="utf-8")]
        for spelling in SPELLINGS:
            with contextlib.suppress(Inexpressible):
                texts += [text for ending, text in render(model, spelling).texts.items() if ending == ".urdf"]
        for text in texts:
            found = check(text, tmp_path)
            assert found.returncode == 0, f"{name}: {found.stdout}{found.stderr}"


@needs_urdfdom
@pytest.mark.parametrize("kind", ["spherical", "cylindrical", "universal"])
def test_urdfdom_reads_written_files_with_joints_that_urdf_lacks(kind, tmp_path):
    builder = ada.Builder("pair").link("base").link("arm", mass=1.0)
    axes = {"spherical": {}, "cylindrical": {"axis": (0, 0, 1)}, "universal": {"axis": (0, 0, 1), "axis2": (0, 1, 0)}}
    model = builder.joint("joint", kind, "base", "arm", **axes[kind]).build()
    found = check(render(model, "loop_joint").texts[".urdf"], tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
