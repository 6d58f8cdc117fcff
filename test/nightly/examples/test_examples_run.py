# SPDX-License-Identifier: Apache-2.0
"""Every example and every notebook runs by itself, without a screen; examples are in the table."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
# The full length, and as many generations as it takes, are a minute each.
ARGUMENTS = {"long_chain.py": ["500"], "learn_five_bar.py": ["12"]}
NEEDS = {"casadi_stewart.py": "casadi", "learn_five_bar.py": "gymnasium", "torch_payload.py": "torch"}


@lru_cache
def output(name: str) -> subprocess.CompletedProcess[str]:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{name} needs the extra {NEEDS[name]}")
    return run(name)


def run(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    headless = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *ARGUMENTS.get(name, [])],
        env={**headless, "PYTHONPATH": path, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs(name: str) -> None:
    done = output(name)
    if name == "export_c.py" and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        assert "no C compiler" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "nan" not in done.stdout
    assert done.stderr == ""


def test_the_export_without_a_compiler_says_so(tmp_path: Path) -> None:
    done = run("export_c.py", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "There is no C compiler" in done.stderr
    assert "Traceback" not in done.stderr


def numbers(name: str, label: str) -> list[float]:
    """The numbers in the line of an example's output that starts so."""
    (line,) = [one for one in output(name).stdout.splitlines() if one.startswith(label)]
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", line[len(label) :])]


def test_the_four_bar_has_the_acceleration_of_its_closed_form() -> None:
    computed, closed_form = numbers("four_bar.py", "crank:")[0], numbers("four_bar.py", "crank:")[-1]
    assert computed == closed_form


def test_the_six_bar_has_the_transmission_angle_of_its_triangle_and_an_even_number_of_dead_points() -> None:
    computed, closed_form = numbers("six_bar.py", "transmission angle [deg]:")
    assert abs(computed - closed_form) < 1e-7
    assert len(numbers("six_bar.py", "dead points by the output, crank at [rad]:")) % 2 == 0


def test_the_legs_of_the_platform_carry_what_virtual_work_says() -> None:
    forces = numbers("stewart.py", "centred payload of 20 kg [N]:")
    (closed_form,) = numbers("stewart.py", "closed form             [N]:")
    assert forces == [closed_form] * 6


def test_the_cranks_of_the_delta_robot_have_the_angles_of_the_closed_form() -> None:
    assert numbers("delta.py", "angles agree with the closed form to")[0] < 1e-12  # rounding of lengths around 1 m


def test_the_singular_pose_is_passed_with_the_energy_kept() -> None:
    energy, level = numbers("singular_passing.py", "energy kept to")
    assert energy < 1e-9
    assert level < 1e-9


def test_the_strokes_of_the_hexapod_have_the_lengths_of_the_closed_form() -> None:
    assert numbers("hexapod_sidecar.py", "largest difference to the closed form:")[0] < 1e-12


def test_a_linkage_is_the_same_in_every_spelling_that_can_say_it() -> None:
    same = re.findall(r"same to (\S+) rad/s²", output("convert_loops.py").stdout)
    assert len(same) >= 5
    assert max(map(float, same)) < 1e-10  # accelerations of up to 100 rad/s²


def test_the_platform_arrives_with_its_loops_closed() -> None:
    missed, gap = numbers("stewart_move.py", "misses its goal by")
    assert missed < 1e-6 and gap < 1e-12
    seconds, strongest, *_ = numbers("stewart_move.py", "there in")
    assert seconds == 0.6 and strongest <= 80.0


def test_the_payload_is_found_within_a_percent() -> None:
    assert numbers("identify_payload.py", "payload:")[-1] < 0.5
    assert numbers("identify_payload.py", "centre of mass from the flange:")[-1] < 0.5
    without, found = (
        numbers("identify_payload.py", f"unexplained on another motion, {x} [%]:")
        for x in ("without the payload", "with it            ")
    )
    assert max(found) < 8.0
    assert min(x / y for x, y in zip(without, found, strict=True)) > 10.0


def test_lengths_are_calibrated_down_to_the_camera() -> None:
    first, last = (numbers("calibrate.py", f"step {turn}: poses missed by")[0] for turn in (0, 3))
    assert first > 3.0 and last < 0.11
    off, known = numbers("calibrate.py", "joints were off by")
    assert off > 2.5 and known < 0.5


def test_a_platform_is_moved_by_ipopt() -> None:
    missed, gap = numbers("casadi_stewart.py", "legs miss their goal by")
    assert missed < 1e-8 and gap < 1e-2  # fifteen midpoint steps
    assert numbers("casadi_stewart.py", "Solve_Succeeded after")[1] <= 80.0001


def test_a_payload_is_found_through_torch() -> None:
    mass, _, *centre = numbers("torch_payload.py", "mass")
    assert abs(mass - 3.0) < 0.01
    assert max(abs(x - y) for x, y in zip(centre[:3], centre[3:], strict=True)) < 2e-3


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 1_000_000  # bytes

# What a kernel does with a cell: its last expression is shown, as HTML where it has some.
RUNNER = """
import ast, json, sys
names = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))["cells"]):
    if cell["cell_type"] != "code":
        continue
    body = ast.parse("".join(cell["source"]), f"cell {number}")
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, f"cell {number}", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        html = getattr(value, "_repr_html_", lambda: None)()
        if html is not None:
            print("shown:", len(html))
"""


def environment():
    """Without a screen, and with this checkout's packages."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**{k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}, "PYTHONPATH": path}


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_the_outputs_of_one_run(path):
    assert path.stat().st_size < LARGEST
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs and not any(output["output_type"] == "error" for output in outputs)
    assert any("assert" in "".join(cell["source"]) for cell in cells(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("viser")
    command = [sys.executable, "-c", RUNNER, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path, env=environment())
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())  # it leaves nothing behind
