# SPDX-License-Identifier: Apache-2.0
"""Elements and attributes that MJCF does not know: a slip is refused, another word (a newer MuJoCo's) is noted."""

from __future__ import annotations

from ada_dynamics.model.description import Description
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import slip

_TURNS = "quat axisangle euler xyaxes zaxis"
_PLACE = f"name class pos {_TURNS}"
_SOFT = "solreflimit solimplimit solreffriction solimpfriction margin"
_EFFORT = "actuatorfrcrange actuatorfrclimited range limited stiffness damping frictionloss armature springyield"
_TENDON = f"name class group user width material rgba springlength {_SOFT} {_EFFORT}"
_EQUALITY = "name class active solref solimp"
_ENDS = "body1 body2 site1 site2 anchor"
_BODY = "inertial joint freejoint geom attach site camera light plugin composite flexcomp body frame replicate"
_MOTORS = "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor plugin"
_MOTOR = (
    "name class group joint jointinparent tendon site refsite body cranksite slidersite cranklength gear lengthrange "
    "ctrlrange ctrllimited forcerange forcelimited actrange actlimited actdim actearly armature damping delay interp "
    "nsample user input inheritrange dyntype gaintype biastype dynprm gainprm biasprm ffrange velrange posrange kp kv "
    "ki imax slewmax dampratio timeconst tausmooth area diameter bias scale force range lmin lmax vmax fpmax fvmax "
    "gain motorconst resistance inductance nominal saturation thermal cogging lugre controller plugin instance"
)
# Children and attributes of elements that are read; None: no check.
_KNOWN: dict[str, tuple[str, str | None]] = {
    "mujoco": (
        "compiler option size statistic visual default extension asset worldbody deformable contact tendon equality "
        "actuator sensor custom keyframe include",
        None,
    ),
    "compiler": (
        "lengthrange",
        "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict convexhull coordinate "
        "discardvisual eulerseq exactmeshinertia fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir "
        "passthrough savecanonical savecompiled saveinertial settotalmass strippath texturedir usethread",
    ),
    "option": (
        "flag",
        "timestep gravity wind magnetic density viscosity impratio integrator cone jacobian solver iterations "
        "tolerance ls_iterations ls_tolerance noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance "
        "mpr_iterations mpr_tolerance sdf_iterations sdf_initpoints sleep_tolerance o_margin o_solref o_solimp "
        "o_friction collision apirate actuatorgroupdisable",
    ),
    "flag": (
        "",
        "constraint equality frictionloss limit contact passive spring damper gravity clampctrl warmstart filterparent "
        "actuation refsafe sensor midphase nativeccd eulerdamp autoreset island override energy fwdinv invdiscrete "
        "multiccd sleep diagexact ipc speculative",
    ),
    "asset": ("mesh hfield skin texture material model", None),
    "asset/mesh": (
        "plugin",
        "name class file content_type scale inertia refpos refquat vertex normal texcoord face builtin params "
        "smoothnormal maxhullvert material",
    ),
    "default": (
        f"default mesh texture material joint geom site camera light pair equality tendon {_MOTORS}",
        "class",
    ),
    "worldbody": (_BODY, None),
    "body": (_BODY, f"name childclass pos {_TURNS} mocap gravcomp fuse simple sleep user"),
    "frame": (_BODY, f"name childclass pos {_TURNS} scale massscale"),
    "replicate": (_BODY, "count sep offset euler childclass"),
    "inertial": ("", f"pos {_TURNS} mass diaginertia fullinertia"),
    "joint": ("", f"name class type pos axis ref springref springdamper group user actuatorgravcomp {_SOFT} {_EFFORT}"),
    "freejoint": ("", "name group align"),
    "geom": (
        "plugin",
        f"{_PLACE} type size fromto mass density shellinertia mesh hfield fitscale material rgba group user contype "
        "conaffinity condim priority friction solmix solref solimp margin gap adhesion surfacevel fluidshape fluidcoef "
        "castshadow",
    ),
    "site": ("", f"{_PLACE} type size fromto material mesh rgba group user"),
    "equality": ("connect weld joint tendon flex flexvert flexstrain distance", None),
    "equality/connect": ("", f"{_EQUALITY} {_ENDS}"),
    "equality/weld": ("", f"{_EQUALITY} {_ENDS} relpose torquescale"),
    "equality/joint": ("", f"{_EQUALITY} joint1 joint2 polycoef"),
    "equality/tendon": ("", f"{_EQUALITY} tendon1 tendon2 polycoef"),
    "default/equality": ("", _EQUALITY),
    "default/tendon": ("", _TENDON),
    "tendon": ("spatial fixed", None),
    "tendon/spatial": ("site geom pulley", _TENDON),
    "tendon/fixed": ("joint", _TENDON),
    "fixed/joint": ("", "joint coef"),
    "spatial/site": ("", "site"),
    "spatial/geom": ("", "geom sidesite"),
    "actuator": (_MOTORS, None),
    **{f"{section}/{tag}": ("config", _MOTOR) for section in ("actuator", "default") for tag in _MOTORS.split()},
}
_UNREAD = {"plugin", "composite", "flexcomp", "attach", "config"}


def check_spelling(root: Element, robot: Description, sink: Sink) -> None:
    """Report slips to the sink, and add other unknown words to what the robot leaves out."""
    pending = [(root, "mujoco")]
    while pending:
        element, key = pending.pop()
        children, attributes = _KNOWN[key]
        for name in element.attributes if attributes is not None else ():
            _check(name, (attributes or "").split(), "attribute", element, element, robot, sink)
        for child in element.children:
            if child.tag not in children.split():
                _check(child.tag, children.split(), "element", child, element, robot, sink)
                continue
            found = next((one for one in (f"{element.tag}/{child.tag}", child.tag) if one in _KNOWN), None)
            if found is not None and child.tag not in _UNREAD:
                pending.append((child, found))


def _check(
    name: str, known: list[str], what: str, at: Element, inside: Element, robot: Description, sink: Sink
) -> None:
    """An element at its place in another one, or an attribute of it."""
    if name in known or ":" in name:
        return
    where = f"<{inside.tag}>" + (f" {inside.attributes['name']!r}" if inside.attributes.get("name") else "")
    meant = slip(name, known)
    said = f"<{name[:40]}>" if what == "element" else repr(name[:40])
    message = f"has an {what} {said}, which MJCF does not know."
    if meant is not None:
        sink(Problem(f"unknown-{what}", at.line, where, message, f"Did you mean {meant!r}?", at.file))
    else:
        robot.left_out.append(Problem(f"unknown-{what}", at.line, where, f"{message} It is not read.", "", at.file))
