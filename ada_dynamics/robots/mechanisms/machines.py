# SPDX-License-Identifier: Apache-2.0
"""Machines of planar linkages: an adaptive gripper, an excavator arm, a palletiser, a walking leg and a scissor lift.

A machine is built as drawn: its pins are points (x, z) of a drawing in which all loops are closed, all link frames are
parallel to the base, and all joint positions are zero. Joints turn about +y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Limits, Mimic, Shape
from ada_dynamics.model.rotations import length
from ada_dynamics.robots.mechanisms.parts import (
    DARK,
    DRIVEN,
    FRAME,
    OUTPUT,
    ROD,
    Colour,
    Mechanism,
    SolidBody,
    X,
    Y,
    Z,
    bar,
    block,
    box,
    closed,
    cylinder,
    meeting_point,
    pin,
    positive,
    turned_y,
)

Point = Sequence[float] | Array  # (x, z) in the drawing [m]


class Drawing:
    """Planar linkage given by the positions of its pins.

    Attributes:
        builder: builder of the model.
        origins: (x, z) of the origin of each link.
    """

    def __init__(self, name: str, base: str, shapes: Sequence[Shape], solid: SolidBody) -> None:
        """Args: name of the robot; its base at the origin of the drawing, with shapes and mass."""
        self.builder = Builder(name).link(base, *solid, visuals=shapes)
        self.origins: dict[str, Array] = {base: np.zeros(2)}

    def local(self, link: str, point: Point, y: float = 0.0) -> Array:
        """Point of the drawing in the frame of a link."""
        x, z = np.asarray(point, dtype=float) - self.origins[link]
        return np.array([x, y, z])

    def link(
        self,
        name: str,
        parent: str,
        points: Sequence[Point],
        mass: float,
        radius: float,
        colour: Colour = ROD,
        *,
        at: Point | None = None,
        ys: Sequence[float] = (0.0,),
        shapes: Sequence[Shape] = (),
        kind: str = "revolute",
        axis: ArrayLike = Y,
        **joint: Any,
    ) -> None:
        """Add a link of round bars along a polyline, and the joint of the same name on its parent.

        The joint is at the first point, or at `at`. Copies of the bars have the distances `ys` from the plane of the
        drawing; masses are proportional to lengths. `shapes` are additional ones in the frame of the link, without
        mass; `joint` are options of `Builder.joint`.
        """
        pivot = points[0] if at is None else at
        self.origins[name] = np.asarray(pivot, dtype=float)
        corners = [[self.local(name, point, y) for point in points] for y in ys]
        ends = [pair for copy in corners for pair in pairwise(copy)]
        looks = [bar(a, b, radius, colour) for a, b in ends]
        # pins reach the plane of the drawing, where they touch those of other links
        low, high = min(*ys, 0.0) - 1.2 * radius, max(*ys, 0.0) + 1.2 * radius
        spots = dict.fromkeys((x, z) for x, _, z in np.array(corners[0]).tolist())
        looks += [bar((x, low, z), (x, high, z), 1.25 * radius, DARK) for x, z in spots]
        self.builder.link(name, *of_bars(ends, radius, mass), visuals=[*looks, *shapes])
        self.builder.joint(name, kind, parent, name, self.local(parent, pivot), axis=axis, **joint)

    def close(self, name: str, one: str, other: str, at: Point) -> None:
        """Join two links by a revolute loop joint."""
        self.builder.loop(name, "revolute", one, other, self.local(one, at), child_xyz=self.local(other, at), axis=Y)

    def hydraulics(self, name: str, base: str, foot: Point, on: str, end: Point, radius: float, limits: Limits) -> None:
        """Add a hydraulic cylinder: sleeve `<name>_sleeve`, motor `<name>_cylinder` and loop joint `<name>_pin`."""
        a, b = np.asarray(foot, dtype=float), np.asarray(end, dtype=float)
        size = float(np.linalg.norm(b - a))
        along = np.array([b[0] - a[0], 0.0, b[1] - a[1]]) / size
        sleeve, rod, steel = f"{name}_sleeve", f"{name}_cylinder", 8000.0 * math.pi * radius**2 * size
        self.link(sleeve, base, [a, a + 0.6 * (b - a)], 0.5 * steel, radius, DRIVEN)
        sliding: dict[str, Any] = {"kind": "prismatic", "axis": along, "limits": limits}
        self.link(rod, sleeve, [a + 0.4 * (b - a), b], 0.3 * steel, 0.6 * radius, at=b, **sliding)
        self.close(f"{name}_pin", rod, on, b)

    def built(self, *motors: str) -> Mechanism:
        """Return the model with its motors, and the configuration of the drawing."""
        return closed(self.builder.actuated(motors), {})


def of_bars(ends: Sequence[tuple[Array, Array]], radius: float, mass: float) -> SolidBody:
    """Mass properties of round bars between two points each, of equal mass per length."""
    lengths = np.array([np.linalg.norm(b - a) for a, b in ends])
    masses, middles = mass * lengths / lengths.sum(), np.array([0.5 * (a + b) for a, b in ends])
    com = masses @ middles / mass
    inertia = np.zeros((3, 3))
    for (a, b), size, m, d in zip(ends, lengths, masses, middles - com, strict=True):
        e, across = (b - a) / size, m * (size**2 / 12.0 + radius**2 / 4.0)
        inertia += across * np.eye(3) + (m * radius**2 / 2.0 - across) * np.outer(e, e)
        inertia += m * (d @ d * np.eye(3) - np.outer(d, d))
    return SolidBody(mass, com, inertia)


def plate(start: ArrayLike, end: ArrayLike, width: float, thickness: float, colour: Colour) -> Shape:
    """Plate between two points of the x-z plane."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    turn = turned_y(math.atan2(b[0] - a[0], b[2] - a[2]))
    return Shape("box", (thickness, width, length(b - a)), 0.5 * (a + b), turn, colour)


# --- gripper --------------------------------------------------------------------------------------------------------
# Pins of the right finger of the opened gripper, rounded sizes of a Robotiq 2F-85 [m].
DRIVE, ELBOW, INNER = (0.031, 0.055), (0.0625, 0.051), (0.013, 0.061)
OUTER_TIP, INNER_TIP = (0.0685, 0.098), (0.0505, 0.104)  # form a parallelogram with DRIVE and INNER
PAD, PAD_SIZES = (0.0425, 0.131), (0.006, 0.022, 0.037)  # middle of the inner face, and edge lengths
ROTOR = 1e-3  # inertia of the motor at each knuckle [kg m²]


def robotiq_gripper(stiffness: float = 0.1, preload: float = 0.06) -> Mechanism:
    """Adaptive gripper like the Robotiq 2F-85: one motor, two fingers of five-bar linkages with springs; mobility 3.

    The motor `left_outer_knuckle` closes both fingers from 0 (85 mm) to 0.8 rad; `right_outer_knuckle` mimics it. In
    each finger, a spring holds the joint `<side>_outer_finger` between outer knuckle and outer finger at its stop at 0:
    there, both and `<side>_inner_knuckle` form a parallelogram, and the fingertip `<side>_inner_finger` stays parallel.
    An object that holds the inner knuckle bends the joint away from its stop, and the fingertip turns inwards. The
    loop joint `<side>_pin` connects outer and inner finger.

    Args:
        stiffness: stiffness of the springs [N m/rad].
        preload: torque of the springs at the stops [N m].

    Raises:
        InputError: stiffness or preload is not positive.
    """
    positive(stiffness=stiffness, preload=preload)
    palm = [pin((0, 0, 0.02), Z, 0.037, 0.04, FRAME), block((0, 0, 0.048), (0.08, 0.036, 0.026), FRAME)]
    drawing = Drawing("robotiq_gripper", "palm", palm, cylinder(0.06, 0.037, 0.6))
    for side, sign in (("left", -1.0), ("right", 1.0)):
        pins = [np.array([sign * x, z]) for x, z in (DRIVE, ELBOW, INNER, OUTER_TIP, INNER_TIP, PAD)]
        drive, elbow, inner, outer_tip, inner_tip, face = pins
        parts = ("outer_knuckle", "outer_finger", "inner_knuckle", "inner_finger")
        knuckle, finger, inside, tip = (f"{side}_{part}" for part in parts)
        mimic = Mimic("left_outer_knuckle", -1.0) if side == "right" else None
        closing, bending = ((0.0, 0.8), (-0.9, 0.0)) if side == "left" else ((-0.8, 0.0), (0.0, 0.9))
        motor: dict[str, Any] = {"limits": Limits(*closing, 2.0, 5.0), "mimic": mimic, "armature": ROTOR}
        spring: dict[str, Any] = {
            "limits": Limits(*bending),
            "stiffness": stiffness,
            "rest": -sign * preload / stiffness,
        }
        pair = (-0.01, 0.01)
        drawing.link(knuckle, "palm", [drive, elbow], 0.02, 0.006, DRIVEN, ys=pair, **motor)
        drawing.link(finger, knuckle, [elbow, outer_tip], 0.02, 0.005, ys=pair, **spring)
        drawing.link(inside, "palm", [inner, inner_tip], 0.02, 0.004, DARK, ys=pair)
        back = face + np.array([sign * 0.5 * PAD_SIZES[0], 0.0])
        x, z = back - inner_tip
        pad = block((x, 0.0, z), PAD_SIZES, OUTPUT)
        drawing.link(tip, inside, [outer_tip, inner_tip, back], 0.03, 0.004, at=inner_tip, shapes=[pad])
        drawing.close(f"{side}_pin", finger, tip, outer_tip)
    return drawing.built("left_outer_knuckle")


# --- excavator and palletiser ---------------------------------------------------------------------------------------
def excavator_arm() -> Mechanism:
    """Arm of an excavator of about 20 t: boom, stick and bucket by three hydraulic cylinders; mobility 3.

    The motors `boom_cylinder`, `stick_cylinder` and `bucket_cylinder` are prismatic joints with a sleeve each, such as
    `boom_sleeve`, and a loop joint, such as `boom_pin`. The cylinder of the bucket turns the `rocker` on the stick,
    which turns the bucket by the rod `rocker_rod` and the loop joint `bucket_ear`. Sizes are rounded.
    """
    foot, elbow, shoulder, wrist = np.array([(0.0, 1.8), (2.6, 4.6), (5.4, 4.8), (6.3, 2.05)])
    lever, rocker, corner, ear = np.array([(5.05, 5.55), (6.156, 2.49), (6.756, 2.69), (6.72, 2.17)])
    cab = [
        pin((-1.0, 0.0, 0.85), Z, 1.2, 0.5, DARK),
        block((-1.4, 0.0, 1.7), (2.4, 2.2, 1.1), FRAME),
        bar((0.0, 0.0, 1.2), (0.6, 0.0, 1.35), 0.2, FRAME),
        pin((0.0, 0.0, 1.8), Y, 0.2, 0.6),
    ]
    drawing = Drawing("excavator_arm", "base", cab, box((2.4, 2.2, 1.1), 16000.0, (-1.4, 0.0, 1.4)))
    # brackets of the cylinders
    above, below = bar((2.6, 0.0, 2.8), (2.75, 0.0, 3.25), 0.1, OUTPUT), bar((2.1, 0, 2.3), (2.35, 0, 2.1), 0.1, OUTPUT)
    front = bar((0.2, 0.0, -0.6), (0.55, 0.0, -0.2), 0.08, OUTPUT)
    drawing.link("boom", "base", [foot, elbow, shoulder], 1600.0, 0.19, OUTPUT, shapes=[above, below])
    drawing.link("stick", "boom", [lever, shoulder, wrist], 900.0, 0.13, OUTPUT, at=shoulder, shapes=[front])
    back = [(x, 0.0, z) for x, z in np.array([ear, (7.2, 1.65), (7.0, 0.95), (6.2, 0.85)]) - wrist]
    shell = [plate(a, b, 1.1, 0.08, FRAME) for a, b in pairwise(back)]
    drawing.link("bucket", "stick", [ear, wrist, (6.9, 1.3)], 700.0, 0.09, FRAME, at=wrist, shapes=shell)
    drawing.link("rocker", "stick", [rocker, corner], 60.0, 0.06, ys=(-0.16, 0.16))
    drawing.link("rocker_rod", "rocker", [corner, ear], 50.0, 0.06)
    drawing.close("bucket_ear", "rocker_rod", "bucket", ear)
    drawing.hydraulics("boom", "base", (0.6, 1.35), "boom", (2.35, 3.9), 0.1, Limits(-0.5, 0.6, 0.4, 8e5))
    drawing.hydraulics("stick", "boom", (2.75, 5.05), "stick", lever, 0.09, Limits(-0.4, 0.7, 0.5, 5e5))
    drawing.hydraulics("bucket", "stick", (5.95, 4.6), "rocker", corner, 0.08, Limits(-0.22, 0.3, 0.5, 4e5))
    return drawing.built("bucket_cylinder", "stick_cylinder", "boom_cylinder")


def palletiser() -> Mechanism:
    """Palletising robot: a turret with an arm of three parallelograms that keeps its tool level; mobility 4.

    The motors are `turret` (about z), `lower_arm`, `crank`, which turns the upper arm by the rod `rod`, and `flange`
    (about z of the wrist). The rods `lower_level` and `upper_level` keep `elbow_plate` and `wrist` parallel to the
    turret. Loop joints are `rod_end`, `lower_level_end` and `upper_level_end`.
    """
    shoulder, elbow, wrist = np.array([(0.2, 0.75), (0.2, 1.7), (1.22, 1.7)])
    rear, level, tool = np.array([(-0.35, 0.0), (-0.2, 0.1), (0.03, 0.2)])  # of the joint beside a pin, from the pin
    stand = [pin((0, 0, 0.15), Z, 0.25, 0.3, DARK)]
    drawing = Drawing("palletiser", "base", stand, cylinder(0.3, 0.25, 120.0))
    arms: dict[str, Any] = {"limits": Limits(-0.5, 1.0, 2.0, 3000.0)}
    post = [(0.0, 0.3), (0.0, 0.7), shoulder, shoulder + level]
    drawing.link("turret", "base", post, 180.0, 0.11, FRAME, axis=Z, limits=Limits(-3.0, 3.0, 2.0, 3000.0))
    drawing.link("lower_arm", "turret", [shoulder, elbow], 60.0, 0.075, DRIVEN, **arms)
    drawing.link("crank", "turret", [shoulder, shoulder + rear], 15.0, 0.04, DRIVEN, ys=(-0.14,), **arms)
    beam: dict[str, Any] = {"at": elbow, "limits": Limits(-1.2, 1.2)}
    drawing.link("upper_arm", "lower_arm", [elbow + rear, elbow, wrist], 45.0, 0.06, OUTPUT, **beam)
    drawing.link("rod", "crank", [shoulder + rear, elbow + rear], 8.0, 0.025, ys=(-0.14,))
    drawing.close("rod_end", "rod", "upper_arm", elbow + rear)
    triangle = [elbow, elbow + level, elbow + tool, elbow]
    drawing.link("elbow_plate", "lower_arm", triangle, 6.0, 0.03, DARK, ys=(0.12,))
    drawing.link("lower_level", "turret", [shoulder + level, elbow + level], 5.0, 0.022, ys=(0.16,))
    drawing.close("lower_level_end", "lower_level", "elbow_plate", elbow + level)
    end = wrist + np.array([0.12, -0.12])
    drawing.link("wrist", "upper_arm", [wrist, wrist + tool, end, wrist], 9.0, 0.03, DARK, ys=(0.0, 0.12))
    drawing.link("upper_level", "elbow_plate", [elbow + tool, wrist + tool], 5.0, 0.022, ys=(0.16,))
    drawing.close("upper_level_end", "upper_level", "wrist", wrist + tool)
    disc: dict[str, Any] = {
        "shapes": [pin((0, 0, -0.1), Z, 0.1, 0.02, OUTPUT)],
        "axis": Z,
        "limits": Limits(-6.0, 6.0, 5.0, 300.0),
    }
    drawing.link("flange", "wrist", [end, end + np.array([0.0, -0.1])], 4.0, 0.04, OUTPUT, **disc)
    return drawing.built("turret", "lower_arm", "flange", "crank")


# --- walking leg and lift -------------------------------------------------------------------------------------------
def jansen_leg() -> Mechanism:
    """Leg of a Strandbeest by Theo Jansen: bars whose toe moves on a flat curve as the crank turns; mobility 1.

    The motor `crank` turns the rods `upper_rod` and `lower_rod`, which move the triangle `hip` and the bar `rocker` on
    the frame; the bar `shin` and the rocker carry the triangle `foot`. Loop joints are `hip_pin`, `knee_pin` and
    `foot_pin`. At zero the crank points to +x. Sizes are Jansen's numbers in centimetres.
    """
    hub, fixed, tip = np.zeros(2), np.array([-0.38, -0.078]), np.array([0.15, 0.0])
    top = meeting_point("the hip", tip, 0.5, fixed, 0.415, 1)
    knee = meeting_point("the knee", tip, 0.619, fixed, 0.393, -1)
    rear = meeting_point("the hip", fixed, 0.401, top, 0.558, -1)
    heel = meeting_point("the heel", rear, 0.394, knee, 0.367, 1)
    toe = meeting_point("the toe", knee, 0.49, heel, 0.657, -1)
    frame = [bar((0.0, y, 0.0), (fixed[0], y, fixed[1]), 0.02, FRAME) for y in (-0.09, 0.09)]
    frame += [pin((x, 0.0, z), Y, 0.015, 0.2) for x, z in (hub, fixed)]
    drawing = Drawing("jansen_leg", "base", frame, cylinder(0.4, 0.03, 2.0))
    outer, inner, thin = (-0.06, 0.06), (-0.03, 0.03), 0.011
    drawing.link("crank", "base", [hub, tip], 0.4, 0.016, DRIVEN, limits=Limits(velocity=10.0, effort=50.0))
    drawing.link("hip", "base", [fixed, top, rear, fixed], 4.0, thin, OUTPUT, ys=outer)
    drawing.link("rocker", "base", [fixed, knee], 1.2, thin, ys=inner)
    drawing.link("upper_rod", "crank", [tip, top], 1.5, thin, ys=inner)
    drawing.link("lower_rod", "crank", [tip, knee], 0.9, thin)
    drawing.link("shin", "hip", [rear, heel], 1.2, thin, ys=inner)
    drawing.link("foot", "rocker", [knee, heel, toe, knee], 4.5, thin, OUTPUT, ys=outer)
    drawing.close("hip_pin", "upper_rod", "hip", top)
    drawing.close("knee_pin", "lower_rod", "rocker", knee)
    drawing.close("foot_pin", "shin", "foot", heel)
    return drawing.built("crank")


LIFT_ANGLES = (0.15, 1.1)  # [rad] of the bars of the lift at the limits of its drive


def scissor_lift(stages: int = 3, arm: float = 1.2) -> Mechanism:
    """Scissor lift: crossed bars in stages, lifted by one prismatic motor; mobility 1.

    The motor `drive` moves the lower end of the bar `falling_1` on the base; positive positions lower the platform.
    Stage i has the bars `rising_i` and `falling_i`, which the loop joint `cross_i` joins in their middles. `platform`
    is on the last falling bar; `roller` slides on it and has the loop joint `roller_pin` on the last rising bar. The
    planar loops have redundant constraints. At zero the bars have an angle of 0.5 rad to the ground.

    Args:
        stages: number of stages.
        arm: length of the bars [m].

    Raises:
        InputError: there is no stage, or the length is not positive.
    """
    positive(stages=stages, arm=arm)
    wide, tall = arm * math.cos(0.5), arm * math.sin(0.5)
    ground = [block((0.5 * arm, 0.0, -0.03), (1.15 * arm, 0.7, 0.06), FRAME)]
    drawing = Drawing("scissor_lift", "base", ground, box((arm, 0.7, 0.06), 80.0))
    low, high = (arm * math.cos(angle) - wide for angle in reversed(LIFT_ANGLES))
    inner, outer = (-0.25, 0.25), (-0.3, 0.3)
    slide: dict[str, Any] = {"kind": "prismatic", "axis": X}
    rail = [(wide, 0.0), (wide + 0.1, 0.0)]
    drawing.link("drive", "base", rail, 10.0, 0.03, DRIVEN, ys=inner, limits=Limits(low, high, 0.3, 2e4), **slide)
    left, right = "base", "drive"
    for i in range(1, stages + 1):
        bottom, top, middle = (i - 1) * tall, i * tall, (0.5 * wide, (i - 0.5) * tall)
        rising, falling = f"rising_{i}", f"falling_{i}"
        drawing.link(rising, left, [(0.0, bottom), (wide, top)], 12.0, 0.025, ys=inner)
        drawing.link(falling, right, [(wide, bottom), middle, (0.0, top)], 12.0, 0.025, OUTPUT, ys=outer)
        drawing.close(f"cross_{i}", rising, falling, middle)
        left, right = falling, rising
    deck = [block((0.5 * arm, 0.0, 0.06), (1.15 * arm, 0.7, 0.05), OUTPUT)]
    drawing.link("platform", left, [(0.0, top), (arm, top)], 60.0, 0.03, FRAME, ys=outer, shapes=deck)
    drawing.link("roller", "platform", [(wide, top), (wide + 0.05, top)], 2.0, 0.03, DARK, ys=outer, **slide)
    drawing.close("roller_pin", "roller", right, (wide, top))
    return drawing.built("drive")
