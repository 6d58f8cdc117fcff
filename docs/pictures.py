# SPDX-License-Identifier: Apache-2.0
"""Pictures of the examples, drawn from what they compute: `python docs/pictures.py [NAME ...]` writes docs/images/.

Needs matplotlib: pip install '.[tools]'. Pictures of mechanisms in space are rendered by the browser view: see film.py.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import balance_strategies
import film
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from model_table import MODELS
from motion_pictures import MOTIONS
from PIL import Image
from screenshots import save

from ada_dynamics import Dynamics, Simulation, load
from ada_dynamics.drawing.maps import plot_map
from ada_dynamics.drawing.plots import figure_of
from ada_dynamics.drawing.robot_drawing import RobotDrawing, prepare_axes, skeleton
from ada_dynamics.drawing.robot_drawing import draw_robot as draw_pose
from ada_dynamics.model.edit import with_parts
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.simulation import CompiledController, half_sine, scene_for
from ada_experiments import awa_simulators, push_sweep, pushed_device
from ada_experiments.settings import read_settings
from ada_tools import scenario as scenarios
from ada_tools.browser.scene import Arrow

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE = (8.0, 3.4)  # [inch]
DOTS = 90  # per inch
MOVING = "moving"  # the one of the front page
MODEL = "model_"  # before the name of a mechanism of the catalogue

Names = dict[str, Any]


def four_bar(example: Names) -> Figure:
    """Snapshots of the falling linkage with the force of its closing joint, and that force over time."""
    model = example["model"]
    path = Simulation(model, example["q"], step=2e-3).run(1.6)
    figure, (left, right) = _two_panels()
    wrenches = path.dynamics.joint_wrenches(path.q, path.v, np.zeros(model.nv))["closing"]
    for i in range(0, 401, 80):
        _side_view(left, path.dynamics, path.q[i], alpha=0.2 + 0.8 * i / 400)
    left.set_title("the first 0.8 s", fontsize="medium")
    for k, label in ((0, "x"), (2, "z")):
        right.plot(path.t, wrenches[:, k], label=f"along {label} of its frame on the ground")
    right.set(xlabel="time [s]", ylabel="force of the closing joint [N]")
    right.legend(fontsize="small")
    return figure


def stewart(example: Names) -> Figure:
    """The tilted platform with its legs coloured by their forces."""
    model, q = example["tilted"], example["at"]
    forces = example["leg_forces"](model, q, 0.1)
    figure, (robot, bars) = _two_panels()
    colours = _colours(forces)
    _view([robot], Dynamics(model, q0=q), [q], _of_legs(colours))
    bars.bar(range(1, 7), forces, color=colours)
    bars.set(xlabel="leg", ylabel="force of the motor [N]")
    return figure


def delta(example: Names) -> Figure:
    """The robot on its path, and what the motors hold."""
    model = example["model"]
    figure = Figure(figsize=SIZE, layout="constrained")
    _view([figure.add_subplot(1, 2, 1)], example["dyn"], [example["q"]])
    upper: Any = figure.add_subplot(2, 2, 2)
    lower: Any = figure.add_subplot(2, 2, 4, sharex=upper)
    rest = np.zeros(model.nv)
    motors = [model.v_index(name).start for name in model.actuated]
    all_round = np.linspace(0.0, 2.0 * np.pi, 73)
    radius, height = example["RADIUS"], example["HEIGHT"]
    poses = [example["delta"]((radius * np.cos(t), radius * np.sin(t), height)).q for t in all_round]
    curves = (
        [np.degrees(q[example["motors"]]) for q in poses],
        [example["dyn"].inverse(q, rest, rest)[motors] for q in poses],
    )
    points = (example["angles"], example["torques"])
    for panel, label, lines, dots in zip((upper, lower), ("crank [deg]", "torque [N m]"), curves, points, strict=True):
        panel.plot(np.degrees(all_round), np.array(lines), label=list(model.actuated))
        panel.set_prop_cycle(None)
        panel.plot(np.degrees(example["azimuths"]), np.array(dots), "o", markersize=3)
        panel.set_ylabel(label)
    upper.legend(fontsize="x-small", ncols=3)
    lower.set_xlabel("azimuth of the plate on its path [deg]")
    return figure


def cassie_leg(example: Names) -> Figure:
    """The leg with its rods and the force of the ground, and the efforts."""
    model, dyn, q = example["model"], example["dyn"], example["q"]
    figure, (left, right) = _two_panels()
    foot = dyn.pose("foot", q)
    ground = Arrow(foot[:3, 3] + foot[:3, :3] @ example["BALL"], np.array([0.0, 0.0, example["LOAD"]]))
    _view([left], dyn, [q], {"achilles": "C3", "plantar": "C2"}, [ground])
    names = list(model.actuated)
    right.barh(names[::-1], [example["efforts"][model.v_index(name)][0] for name in names[::-1]])
    right.axvline(0.0, color="0.4", lw=0.8)
    right.set_xlabel("effort of the motor [N m]")
    return figure


def cassie_leg_ik(example: Names) -> Figure:
    """The leg in its poses, and the angles of the motors that move."""
    figure, (left, right) = _two_panels()
    model, poses = example["model"], example["poses"]
    for i, q in enumerate(poses):
        _side_view(left, example["dyn"], q, 0.15 + 0.85 * i / (len(poses) - 1))
    share = np.linspace(0.0, 1.0, len(poses))
    for name in ("hip_pitch", "knee", "foot_crank"):
        right.plot(share, [np.degrees(q[model.q_index(name)][0]) for q in poses], "o-", markersize=3, label=name)
    right.set(xlabel="share of the swing", ylabel="angle of the motor [deg]")
    right.legend(fontsize="small", loc=(0.65, 0.26))
    return figure


def singular_passing(example: Names) -> Figure:
    """Distance of the linkage from the singular configuration, and its energy."""
    figure = Figure(figsize=SIZE, layout="constrained")
    panels: Any = figure.subplots(3, 1, sharex=True)
    t = np.arange(1, len(example["crank"]) + 1) * example["STEP"]
    panels[0].plot(t, np.degrees(example["crank"]))
    panels[0].set_ylabel("crank [deg]")
    panels[1].semilogy(t, example["sigma"])
    panels[1].set_ylabel("rank left σ")
    panels[2].plot(t, np.abs(example["energy"] / example["start"] - 1.0))
    panels[2].set(ylabel="energy error", xlabel="time [s]")
    for time in t[1:][np.diff(np.sign(np.cos(example["crank"]))) != 0]:
        for panel in panels:
            panel.axvline(time, color="C1", ls=":")
    return figure


def five_bar_map(example: Names) -> Figure:
    """The workspace with both kinds of singular poses, and the linkage in it."""
    figure: Figure = plot_map(example["map_"], measures=("serial", "parallel"))
    for panel in (axes for axes in figure.axes if axes.get_title(loc="left")):  # the others are scales
        for start, end in skeleton(example["dyn"], example["q"]):
            panel.plot((start[0], end[0]), (start[2], end[2]), "o-", color="white", markersize=3, lw=1.5)
    return figure


def motions() -> Figure:
    """Three motions side by side: poses over time, and the energies under them."""
    arm = load("pa10")
    start = np.zeros(arm.nq)
    start[1] = 0.8
    linkage, humanoid = load("closed_4r"), load("khr1")
    falling, standing = scene_for(arm, start), scene_for(humanoid, start_of("khr1"), is_given=False)
    home = standing.q

    def servos(t: Any, q: Any, v: Any) -> list[Any]:
        return [0.0] * 6 + [-20.0 * (q[i + 1] - home[i + 1]) - 0.3 * v[i] for i in range(6, humanoid.nv)]

    push = half_sine("trunk", (8.0, 0, 0, 0, 0, 0), 0.3, 0.1, frame="world")
    logs = [
        Simulation(arm, falling.q, stops=falling.stops).run(1.2),
        Simulation(linkage, np.radians([60, 30, 150])).run(0.7),
        Simulation(
            humanoid,
            home,
            contact=standing.contact,
            stops=standing.stops,
            controller=CompiledController(servos),
            external=[push],
            integrator=standing.integrator,
        ).run(1.2),
    ]
    titles = ("falls", "passes a singular pose", "is pushed")
    figure = Figure(figsize=(10.0, 5.6), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[2.4, 1.0])
    for column, (log, title) in enumerate(zip(logs, titles, strict=True)):
        drawer = RobotDrawing(log.dynamics)
        poses = [drawer.at(log.q[i]) for i in np.linspace(0, len(log) - 1, 6).astype(int)]
        axes = prepare_axes(figure, grid[0, column], poses, "xz")
        for i, pose in enumerate(poses):
            draw_pose(axes, pose, "xz", 0.12 + 0.88 * (i / 5) ** 1.5, 2.0 + i)
        axes.set_title(f"{log.model.name} {title}", fontsize="medium")
        below: Any = figure.add_subplot(grid[1, column])
        for values, label in zip((*log.energy, log.total_energy), ("kinetic", "potential", "total"), strict=True):
            below.plot(log.t, values, label=label)
        below.set(xlabel="time [s]", ylabel="energy [J]")
        if not column:
            below.legend(fontsize="small")
    return figure


def control() -> Figure:
    """Three controlled motions, and what is to be seen of them over time."""
    bar, stops, pushed = (scenarios.simulate(scenarios.load(name)) for name in ("T7.2", "T7.5", "T6.2"))
    figure = Figure(figsize=(10.0, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[2.0, 1.0])
    titles = (
        "an open chain moves as a four-bar",
        "... comes to rest in a dead point",
        "a pushed humanoid keeps its feet",
    )
    ends = (bar.t[-1], 5.0, 3.0)
    for column, (log, title, end) in enumerate(zip((bar, stops, pushed), titles, ends, strict=True)):
        drawer = RobotDrawing(log.dynamics)
        first = 0.0 if log is not pushed else 1.0
        last = end if log is not pushed else 1.33
        rows = np.searchsorted(log.t, np.linspace(first, last, 5)).clip(max=len(log) - 1)
        poses = [drawer.at(log.q[i]) for i in rows]
        axes = prepare_axes(figure, grid[0, column], poses, "xz")
        for i, pose in enumerate(poses):
            draw_pose(axes, pose, "xz", 0.12 + 0.88 * (i / 4) ** 1.5, 2.0 + i)
        axes.set_title(title, fontsize="medium")
        below: Any = figure.add_subplot(grid[1, column])
        shown = log.t <= end
        if log is pushed:
            momentum = np.array(
                [log.dynamics.momentum(q, v)[3:] for q, v in zip(log.q[shown], log.v[shown], strict=True)]
            )
            below.plot(log.t[shown], momentum[:, 1:], label=["about y", "about z"])
            below.set_ylabel("angular momentum\n[kg m²/s]")
        else:
            below.plot(log.t[shown], np.degrees(log.q[shown]), label=[f"joint {i}" for i in range(1, 5)])
            below.set_ylabel("angle [deg]")
        below.set_xlabel("time [s]")
        below.legend(fontsize="x-small")
    return figure


def swing_up(example: Names) -> Figure:
    """The linkage on its way up, and what the motor does."""
    figure, (side, over_time) = _two_panels()
    dynamics, poses = example["dyn"], example["states"](example["found"].x)[0]
    rows = np.linspace(0, len(poses) - 1, 11).round().astype(int)
    for i, row in enumerate(rows):
        _side_view(side, dynamics, poses[row], 0.15 + 0.85 * i / (len(rows) - 1))
    side.set_title("from hanging to upright")
    t = np.linspace(0.0, example["SECONDS"], len(poses))
    over_time.plot(t, example["angle"], "o-", markersize=3, label="angle of the crank [rad]")
    over_time.plot(t, example["torque"], "o-", markersize=3, label="torque of its motor [N m]")
    over_time.set_xlabel("time [s]")
    over_time.legend(fontsize="x-small")
    over_time.set_title("holding it in any pose takes 4.3 N m")
    return figure


def stewart_move(example: Names) -> Figure:
    """The platform at its start and at its goal, and the forces of the motors."""
    motion = example["motion"]
    return _moved_platform(example, example["sim"].dynamics, motion.q, motion.t)


def _moved_platform(example: Names, dynamics: Dynamics, poses: Any, times: Any) -> Figure:
    """A platform at the first and at the last pose, and its forces between their limits."""
    figure = Figure(figsize=SIZE, layout="constrained")
    before, after, over_time = figure.subplots(1, 3, width_ratios=(1, 1, 1.5))
    _view([before, after], dynamics, [poses[0], poses[-1]], _of_legs([f"C{i}" for i in range(6)]))
    for i, force in enumerate(example["forces"].T, start=1):
        over_time.step(times, [*force, force[-1]], where="post", label=f"leg {i}")
    for limit in (-1.0, 1.0):
        over_time.axhline(limit * example["STRONGEST"], color="0.6", ls="--")
    over_time.set(xlabel="time [s]", ylabel="force of the motor [N]")
    over_time.legend(fontsize="x-small", ncols=2)
    return figure


def identify_payload(example: Names) -> Figure:
    """A joint's torque on the unseen motion as it is and as both models have it; what each leaves of all joints'."""
    figure, (left, right) = _two_panels()
    without, found, joints = example["without"], example["with_payload"], example["found"].joints
    joint = joints.index("e1")
    left.plot(found.t, found.measured[:, joint], color="0.6", lw=3, label="measured")
    left.plot(without.t, without.computed[:, joint], "C1", label="without the payload")
    left.plot(found.t, found.computed[:, joint], "C0", label="with it")
    left.set(xlabel="time [s]", ylabel=f"torque of {joints[joint]} [N m]")
    left.legend(fontsize="small")
    for shift, fit, colour in ((-0.2, without, "C1"), (0.2, found, "C0")):
        right.bar(np.arange(len(joints)) + shift, fit.percent, 0.4, color=colour)
    right.set_xticks(range(len(joints)), joints)
    right.set(ylabel="unexplained [%]", yscale="log")
    return figure


def calibrate(example: Names) -> Figure:
    """The platform, its lengths as built and as found, and what the measured poses are missed by at each step."""
    figure = Figure(figsize=SIZE, layout="constrained")
    robot, left, right = figure.subplots(1, 3)
    _view([robot], Dynamics(example["model"]), [example["home"]])
    truth, found = 1e3 * example["truth"], 1e3 * example["found"]
    left.bar(np.arange(len(truth)), truth, color="0.8", label="as it was built")
    left.plot(found, "C0o", markersize=4, label="as calibrated")
    left.set(xlabel="length", ylabel="off the drawing [mm]")
    left.legend(fontsize="small")
    right.semilogy(1e3 * np.array(example["misses"]), "o-")
    right.axhline(1e3 * example["NOISE"], color="0.6", ls="--")
    right.set(xlabel="step", ylabel="poses missed by [mm, mrad]", xticks=range(len(example["misses"])))
    return figure


def casadi_stewart(example: Names) -> Figure:
    """The platform at its start and at its goal, and the forces of its motors within their limits."""
    times = np.linspace(0.0, example["DURATION"], example["N"] + 1)
    return _moved_platform(example, example["dynamics"], example["poses"], times)


def learn_five_bar(example: Names) -> Figure:
    """Mean reward over the generations, and how far from its goal the tip is at the end, before and after."""
    figure, (left, right) = _two_panels()
    left.plot(1 + np.arange(len(example["history"])), example["history"])
    left.set(xlabel="generation", ylabel="mean reward of an action")
    bins = np.linspace(0.0, 40.0, 41)
    for name, colour, label in (("before", "0.7", "without learning"), ("after", "C0", "with it")):
        right.hist(100.0 * example[name], bins, color=colour, alpha=0.8, label=label)
    right.set(xlabel="from the goal at the end [cm]", ylabel="of 512 goals")
    right.legend(fontsize="small")
    return figure


def falls() -> Figure:
    """Tilt of KHR-1 with other steps and gains than the paper's, until it lies (A3)."""
    tried, _ = awa_simulators.try_all(scenarios.load("A3"), lambda share, what: None)
    figure: Figure = figure_of(awa_simulators.tilts(tried), None, 2)
    return figure


def device() -> Figure:
    """Falls and survivals of HOAP-2 behind the hardware contract (T6.8)."""
    scenario = scenarios.load("T6.8")
    chosen = read_settings(scenario.with_changes(scenario.full), push_sweep.PushSettings)
    found, _ = pushed_device.all_pushes(chosen, lambda share, text: None)
    figure: Figure = figure_of(push_sweep.map_of(found, chosen.points, pushed_device.LABELS), None, 2)
    return figure


OVERVIEWS: dict[str, Callable[[], Figure]] = {
    "motions": motions,
    "control": control,
    "falls": falls,
    "device": device,
    "balance_strategies": balance_strategies.draw,
}
PICTURES: dict[str, Callable[[Names], Figure]] = MOTIONS | {
    one.__name__: one
    for one in (
        four_bar,
        stewart,
        delta,
        cassie_leg,
        cassie_leg_ik,
        singular_passing,
        five_bar_map,
        swing_up,
        stewart_move,
        identify_payload,
        calibrate,
        casadi_stewart,
        learn_five_bar,
    )
}


def model(name: str) -> Image.Image:
    """A mechanism of the catalogue in its start configuration, as the browser view shows it."""
    shown = load(name)
    q = start_of(name, shown)
    return film.views(Dynamics(shown, q0=q), [q], [], (720, 540))[0].resize((480, 360))


# --- parts --------------------------------------------------------------------------------------------------------
def _two_panels() -> tuple[Figure, Any]:
    figure = Figure(figsize=SIZE, layout="constrained")
    return figure, figure.subplots(1, 2)


def _side_view(axes: Any, dynamics: Dynamics, q: Any, alpha: float = 1.0) -> None:
    for start, end in skeleton(dynamics, q):
        axes.plot((start[0], end[0]), (start[2], end[2]), "o-", color="C0", markersize=3, lw=2, alpha=alpha)
    axes.set_aspect("equal")
    axes.set(xlabel="x [m]", ylabel="z [m]")


def _view(
    panels: Sequence[Any],
    dynamics: Dynamics,
    configurations: Sequence[Any],
    colours: Mapping[str, Any] = MappingProxyType({}),
    arrows: Sequence[Arrow] = (),
) -> None:
    """The robot as the browser view shows it, a configuration in each panel, with some links in other colours."""
    links = []
    for name, colour in colours.items():
        link = dynamics.model.links[name]
        links.append(
            replace(link, visuals=tuple(replace(shape, rgba=(*to_rgb(colour), 1.0)) for shape in link.visuals))
        )
    shown = Dynamics(with_parts(dynamics.model, *links))
    shots = film.views(shown, configurations, arrows, (640, 612))
    for panel, shot in zip(panels, shots, strict=True):
        panel.imshow(shot)
        panel.set_axis_off()


def _of_legs(colours: Sequence[Any]) -> dict[str, Any]:
    """Colours of the links with the motors of a Stewart platform."""
    return {f"leg_{i}_sleeve": colour for i, colour in enumerate(colours, start=1)}


def _colours(values: Any) -> list[tuple[float, float, float]]:
    """From blue (smallest) to red (largest)."""
    shares = (values - values.min()) / (np.ptp(values) or 1.0)
    return [(0.2 + 0.7 * s, 0.3, 0.9 - 0.7 * s) for s in shares]


def draw_robot(name: str, folder: str | Path = IMAGES) -> Path:
    """Run an example, if the picture is of one, and draw it."""
    if name == MOVING:
        return film.write(Path(folder) / f"{name}.gif")
    if name.startswith(MODEL):
        return save(model(name.removeprefix(MODEL)), Path(folder) / f"{name}.png")
    if name in OVERVIEWS:
        return _save(OVERVIEWS[name](), Path(folder) / f"{name}.png")
    with contextlib.redirect_stdout(io.StringIO()):
        sys.argv = [name]  # of the example
    example = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    return _save(PICTURES[name](example), Path(folder) / f"example_{name}.png")


def _save(figure: Figure, path: Path) -> Path:
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DOTS)
    return save(Image.open(drawn), path)  # without matplotlib's version in it, the same picture is the same file


if __name__ == "__main__":
    for wanted in sys.argv[1:] or (MOVING, *OVERVIEWS, *PICTURES, *(f"{MODEL}{name}" for name in MODELS)):
        print(draw_robot(wanted))
