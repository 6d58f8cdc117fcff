# SPDX-License-Identifier: Apache-2.0
"""`ada identify`: recordings of all kinds in, parameters and robots out; what cannot be used is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from recorded_arm import ASKED, PAYLOAD, recorded_arm
from refused import refused

import ada_dynamics as ada
from ada_dynamics.identification.samples import smooth, time_gaps
from ada_tools import cli


@pytest.fixture(scope="module")
def log() -> ada.Log:
    return recorded_arm()


@pytest.fixture(scope="module")
def files(log: ada.Log, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recordings")
    for name in ("run.mcap", "run.csv"):
        log.save(folder / name)
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    code = cli.main(["identify", *map(str, words), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    found: dict = json.loads(out)
    return found


@pytest.mark.parametrize("name", ["run.mcap", "run.csv"])
def test_a_payload_is_found_in_every_kind_of_recording(files: Path, name: str, capsys) -> None:
    found = told(capsys, files / name, "--model", "pa10", *ASKED)
    rows = {row["name"]: row for row in found["parameters"]}
    assert rows["link_7.mass"]["value"] == pytest.approx(0.24 + PAYLOAD, rel=1e-3)
    assert rows["s1.damping"]["value"] == pytest.approx(1.5, rel=1e-2)
    assert max(row["unseen_percent"] for row in found["residuals"]) < 1.0
    assert found["not_shown"] == []


def test_the_robot_is_written_and_the_parameters_are_printed(files: Path, tmp_path: Path, capsys) -> None:
    robot = tmp_path / "found.urdf"
    words = [files / "run.mcap", *ASKED, "--save", robot]
    assert cli.main(["identify", *map(str, words)]) == 0
    printed = capsys.readouterr().out
    assert "link_7.mass" in printed and "validation %" in printed
    assert ada.load(robot).links["link_7"].mass == pytest.approx(0.24 + PAYLOAD, rel=1e-3)


def without(files: Path, folder: Path, words: str) -> Path:
    """The table without the columns whose names begin so."""
    lines = [line.split(",") for line in (files / "run.csv").read_text().splitlines()]
    kept = [k for k, name in enumerate(lines[0]) if not name.startswith(words)]
    path = folder / "cut.csv"
    path.write_text("\n".join(",".join(line[k] for k in kept) for line in lines) + "\n")
    return path


@pytest.mark.parametrize("gone", ["tau", "tau e1", "q s3", "t "])
def test_a_table_without_a_column_is_refused(files: Path, tmp_path: Path, gone: str) -> None:
    assert cli.main(["identify", str(without(files, tmp_path, gone)), "--model", "pa10"]) == 2


@pytest.mark.parametrize(("name", "robot"), [("run.mcap", ["--model", "planar_3r"]), ("run.csv", [])])
def test_a_recording_of_another_robot_or_of_none_is_refused(files: Path, name: str, robot: list[str]) -> None:
    assert cli.main(["identify", str(files / name), *robot]) == 2


@pytest.mark.parametrize("text", ["t,q\n1,2\n1,x\n", "t,q,v\n1,2\n", None])
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "run.csv"
    if text is not None:
        path.write_text(text)
    assert cli.main(["identify", str(path), "--model", "pa10"]) == 2


def test_wrenches_from_outside_are_refused(log: ada.Log) -> None:
    pushed = ada.Log(log.model, log.t, log.q, log.v, None, log.tau, external={"flange": np.ones((len(log), 6))})
    with refused(ada.InputError, link="flange", field="external"):
        ada.identify(log.model, pushed)


def test_rows_beside_a_gap_are_dropped(log: ada.Log) -> None:
    kept = (log.t < 3.0) | (log.t > 3.5)
    t, q, tau = log.t[kept], log.q[kept], log.tau[kept]
    assert time_gaps(t) == [(pytest.approx(2.998), pytest.approx(3.502))]
    found = smooth(log.model, t, q, tau, 0.1)
    assert np.all((found.t < 2.95) | (found.t > 3.55))
    assert found.t[0] == pytest.approx(0.05, abs=0.003) and found.t[-1] == pytest.approx(7.95, abs=0.003)


def test_a_recording_of_pieces_is_refused(log: ada.Log) -> None:
    rows = np.arange(len(log)) % 50 < 20
    with refused(ada.InputError, field="window", allowed=pytest.approx(0.038)):
        smooth(log.model, log.t[rows], log.q[rows], log.tau[rows], 0.1)
    with refused(ada.InputError, field="t", value=2000):
        smooth(log.model, log.t % 4.0, log.q, log.tau, 0.1)


def test_the_filter_delays_nothing(log: ada.Log) -> None:
    found = smooth(log.model, log.t, log.q, log.tau, 0.1)
    rows = np.searchsorted(log.t, found.t - 1e-9)
    assert found.v == pytest.approx(log.v[rows], abs=1e-4 * np.max(np.abs(log.v)))
    assert found.a == pytest.approx(log.a[rows], abs=3e-3 * np.max(np.abs(log.a)))


def test_quaternions_turn_as_their_rates_say() -> None:
    builder = ada.Builder("body")
    builder.link("brick", mass=1.0, inertia=(0.1, 0.2, 0.3))
    model = builder.build(base="floating", gravity=(0.0, 0.0, 0.0))
    run = ada.Simulation(model, v=[0.1, 0.2, 0.3, 1.0, 2.0, 0.5]).run(2.0)
    q = run.q.copy()
    q[1000:, 3:] *= -1.0
    found = smooth(model, run.t, q, np.ones_like(run.v), 0.1)
    rows = np.searchsorted(run.t, found.t - 1e-9)
    assert found.v == pytest.approx(run.v[rows], abs=1e-4)
    assert found.a == pytest.approx(run.a[rows], abs=5e-3)
