# SPDX-License-Identifier: Apache-2.0
"""Table of the setups: arguments and processes of each one, for the launch files and for `ada up`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ada_dynamics.errors import unknown_name
from ada_robot.ros.robot_settings import COMMON_WORLD
from ada_tools.bringup.arguments import NODE_ARGUMENTS, Argument, joint_positions, numbers, robot_arguments, unusable
from ada_tools.bringup.devices import (
    ACTIVATE,
    AUTO,
    EMULATOR,
    NONE,
    REAL,
    SENSORS,
    address,
    backend,
    device_parameters,
    refuse_unsupported,
)
from ada_tools.bringup.nodes import (
    SIM,
    Parameter,
    Parameters,
    SetupValues,
    controller_node,
    dynamics_node,
    hardware_node,
    loop_state_publisher,
    target_node,
    watchers,
)
from ada_tools.bringup.processes import Machine, Plan, Process

Processes = Callable[[SetupValues], list[Process]]


@dataclass(frozen=True)
class Setup:
    """A set of nodes started together.

    Attributes:
        name: as in NAME.launch.py and `ada up NAME`.
        summary: one-line description.
        arguments: all arguments.
        processes: creates the processes from the argument values.
        shorthands: alternative names, with the argument values that they imply.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    processes: Processes = field(repr=False)
    shorthands: Mapping[str, Mapping[str, str]]

    @property
    def launch_file(self) -> str:
        """File name in launch/."""
        return f"{self.name}.launch.py"


SETUPS: dict[str, Setup] = {}


def _setup(
    name: str,
    summary: str,
    *own: Argument,
    idle: str = "hold",
    shorthands: Mapping[str, Mapping[str, str]] | None = None,
) -> Callable[[Processes], Processes]:
    """Add a setup with a function that creates its processes; an empty `idle` means that it has no robot."""
    common = robot_arguments(idle) if idle else NODE_ARGUMENTS

    def add(processes: Processes) -> Processes:
        SETUPS[name] = Setup(name, summary, (*own, *common), processes, shorthands or {})
        return processes

    return add


def plan(
    setup: Setup | str, values: Mapping[str, str] | None = None, machine: Machine | None = None, pushed: str = ""
) -> Plan:
    """Plan the processes of a setup.

    Args:
        setup: setup or its name.
        values: argument values that differ from the defaults.
        machine: installed programs; default: those of this machine.
        pushed: namespace of an including launch file.

    Raises:
        InputError: the setup or an argument is unknown, or a value is not allowed.
    """
    given = dict(values or {})
    if isinstance(setup, str):
        setup, shorthand = find_setup(setup)
        given = {**shorthand, **given}
    checked = SetupValues(setup.name, setup.arguments, given, machine or Machine.this(), pushed)
    refuse_unsupported(checked)
    processes = tuple(setup.processes(checked))
    return Plan(setup.name, {**checked, "namespace": checked.namespace}, processes, tuple(checked.notes))


def find_setup(name: str) -> tuple[Setup, dict[str, str]]:
    """Setup by name or shorthand, and the argument values implied by the shorthand.

    Raises:
        InputError: unknown name.
    """
    if name in SETUPS:
        return SETUPS[name], {}
    for setup in SETUPS.values():
        if name in setup.shorthands:
            return setup, dict(setup.shorthands[name])
    raise unknown_name("setup", name, [*SETUPS, *(short for setup in SETUPS.values() for short in setup.shorthands)])


# --- simulations ----------------------------------------------------------------------------------------------------
_SUPPORT = Argument("base", "floating", "attachment of the trunk: none, or fixed in the air", ("floating", "fixed"))
_CONTACT = Argument(
    "contact",
    "auto",
    "contact of the feet with a ground at height 0; auto: if the base is floating",
    ("auto", "on", "off"),
)
_BASE = Argument(
    "base",
    "auto",
    "attachment of the root link; auto: fixed, or from the catalogue",
    ("auto", "fixed", "floating", "floating_euler"),
)
_MECHANISMS = (
    "four_bar",
    "slider_crank",
    "five_bar",
    "closed_4r",
    "watt_six_bar",
    "stephenson_six_bar",
    "bennett",
    "delta",
    "stewart",
)
_BENT = [0.0, math.pi / 4, 0.0, 0.0, 0.0, 0.0, 0.0]  # [rad] the upright arm would not fall


@_setup(
    "pa10_sim",
    "The arm PA-10 with 7 joints, swinging freely (idle:=hold: held by its servos)",
    Argument(
        "robot",
        "pa10",
        "arm: PA10-7CE, the older PA-10-7C, or as in Takahashi 2012",
        ("pa10", "pa10_7c", "pa10_thesis"),
    ),
    idle="release",
    shorthands={"pa10": {}, "pa10_7c": {"robot": "pa10_7c"}, "pa10_thesis": {"robot": "pa10_thesis"}},
)
def _pa10_sim(values: SetupValues) -> list[Process]:
    start = {} if values["robot"] == "pa10_thesis" else {"initial_positions": list(_BENT)}
    return [dynamics_node(values, "pa10_sim", {"robot": values("robot"), **start}), *watchers(values, "pa10_sim")]


def _humanoid(values: SetupValues, picture: str, robot: Parameter) -> list[Process]:
    """A humanoid robot on the ground."""
    world = "odom" if values["base"] == "floating" else "world"
    own: Parameters = {
        "robot": robot,
        "base": values("base"),
        "contact": values("contact"),
        "world_frame": values("base", world),
    }
    return [dynamics_node(values, picture, own), *watchers(values, picture, world)]


@_setup(
    "khr1_sim",
    "The humanoid KHR-1, standing on the ground",
    _SUPPORT,
    _CONTACT,
    shorthands={"khr1": {}},
)
def _khr1_sim(values: SetupValues) -> list[Process]:
    return _humanoid(values, "khr1_sim", Parameter("khr1"))


@_setup(
    "hoap2_sim",
    "The humanoid HOAP-2, standing on the ground",
    Argument("robot", "hoap2", "with all 25 joints, or with hips and ankles only", ("hoap2", "hoap2_10dof")),
    _SUPPORT,
    _CONTACT,
    shorthands={"hoap2": {}, "hoap2_10dof": {"robot": "hoap2_10dof"}},
)
def _hoap2_sim(values: SetupValues) -> list[Process]:
    return _humanoid(values, "hoap2_sim" if values["robot"] == "hoap2" else "hoap2_sim_10dof", values("robot"))


@_setup(
    "hexa_sim",
    "The parallel robot HEXA with six closed loops, held by its six motors",
    shorthands={"hexa": {}},
)
def _hexa_sim(values: SetupValues) -> list[Process]:
    return [dynamics_node(values, "hexa_sim", {"robot": "hexa"}), *watchers(values, "hexa_sim")]


@_setup(
    "closed_chain",
    "A mechanism with closed loops, swinging freely",
    Argument("mechanism", "four_bar", "mechanism of the catalogue", _MECHANISMS),
    idle="release",
    shorthands={name: {"mechanism": name} for name in _MECHANISMS},
)
def _closed_chain(values: SetupValues) -> list[Process]:
    picture = f"closed_chain_{values['mechanism']}"
    return [dynamics_node(values, picture, {"robot": values("mechanism")}), *watchers(values, picture)]


@_setup(
    "display",
    "Any robot, at rest, with sliders for its joints in the browser view",
    Argument(
        "robot",
        "pa10",
        "path of a URDF, xacro, MJCF or SDFormat file, or a name from `ada list`; empty: from the topic "
        "robot_description",
    ),
    Argument("loops", "", "path of a file with joints that close loops; empty: none"),
    _BASE,
)
def _display(values: SetupValues) -> list[Process]:
    own: Parameters = {
        "robot": values("robot"),
        "loops": values("loops"),
        "base": values("base"),
        "contact": "off",
        "start_paused": True,
    }
    return [dynamics_node(values, "display", own), *watchers(values, "display", view={"pose_sliders": True})]


# --- robots with a controller ---------------------------------------------------------------------------------------
# The controller needs the state of each step: a delay of 4 ms would reduce its damping.
_EACH_STEP = {"publish_rate": 1000.0}
# A late simulation loses no state, and after a strong push it returns to its target. Its complete state is exact.
_BESIDE_SIMULATION = {"state_timeout": 2.0, "max_gap": 0.5, "max_position_jump": 0.0}
_EXACT = {"state_source": "state"}


@_setup(
    "robot_control",
    "Any robot, with the joints that close its loops, under a controller",
    Argument("robot", "delta", "path of a URDF, xacro, MJCF or SDFormat file, or a name from `ada list`"),
    Argument("loops", "", "path of a file with joints that close loops, and the motors; empty: none"),
    _BASE,
    Argument(
        "controller",
        "computed_torque",
        "controller (docs/controllers.md)",
        (
            "computed_torque",
            "joint_trajectory",
            "impedance",
            "pid",
            "pose_servo",
            "gravity_compensation",
            NONE,
        ),
    ),
    Argument(
        "goal",
        "",
        "initial target of the joints with motors, JOINT=POSITION,... [rad, m], such as "
        "shoulder=0.5,elbow=-0.2; empty: the initial configuration",
    ),
    shorthands={
        f"{robot}_control": {"robot": robot, "params_file": f"{robot}_control.yaml"}
        for robot in ("five_bar", "delta", "stewart")
    },
)
def _robot_control(values: SetupValues) -> list[Process]:
    own: Parameters = {"robot": values("robot"), "loops": values("loops"), "base": values("base"), **_EACH_STEP}
    found = [dynamics_node(values, "robot_control", own)]
    if values["controller"] != NONE:
        # The controller reads the robot, its loops and motors from the topic robot_description.
        control: Parameters = {
            "controller": values("controller"),
            "base": values("base"),
            **_BESIDE_SIMULATION,
            **_EXACT,
        }
        goal = joint_positions(values["goal"])
        target: Parameters = {"joints": values("goal", list(goal)), "positions": values("goal", list(goal.values()))}
        found += [controller_node(values, control), *target_node(values, target if goal else None)]
    return [*found, *watchers(values, "robot_control")]


# Takahashi 2012, secs. 7.2.2 and 7.2.3: closed configurations of the virtual loops. The rod, twice as long as the
# crank, ends at the height of the pivot of the crank, where the slider hangs.
_CRANK = math.radians(30.0)
_ROD = math.acos(-0.5 * math.cos(_CRANK))  # from the vertical
_CLOSED_STARTS = {
    "parallel_four_bar": [math.radians(angle) for angle in (60.0, 30.0, 150.0, -60.0)],
    "slider_crank": [_CRANK, _ROD - _CRANK, 0.0, math.pi - _ROD],
}
_VIRTUAL_GAINS: Mapping[str, Parameters] = {
    "parallel_four_bar": {  # eqs. 7.11 and 7.12
        "joint_stiffness": [5.0, 0.0, 0.0, 0.0],
        "joint_damping": [5.0, 0.0, 0.0, 0.0],
    },
    "slider_crank": {  # eqs. 7.18 and 7.19, without the leading force
        "joint_stiffness": [0.0],
        "joint_damping": [0.0],
        "pose_stiffness": [10.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "pose_damping": [10.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    },
}


@_setup(
    "closed_chain_control",
    "Four rods in series, controlled as a closed chain",
    Argument(
        "mechanism",
        "parallel_four_bar",
        "virtual mechanism; none: no controller, the rods fall",
        ("parallel_four_bar", "slider_crank", NONE),
    ),
    Argument(
        "target",
        "",
        "target: angle of the first rod [deg], or position of the slider [m]; empty: 0 deg, 1.49 m",
    ),
    shorthands={f"virtual_{name}": {"mechanism": name} for name in _CLOSED_STARTS},
)
def _closed_chain_control(values: SetupValues) -> list[Process]:
    mechanism, picture = values["mechanism"], "closed_chain_control"
    falls = mechanism == NONE and "idle" not in values.given
    own: Parameters = {
        **({"idle": "release"} if falls else {}),
        "robot": "planar_4r",
        "initial_positions": _CLOSED_STARTS.get(mechanism, _CLOSED_STARTS["parallel_four_bar"]),
        **_EACH_STEP,
    }
    robot = dynamics_node(values, picture, own)
    if mechanism == NONE:
        return [robot, *watchers(values, picture)]
    control: Parameters = {
        "controller": "virtual_closed_chain",
        "robot": "planar_4r",
        **_BESIDE_SIMULATION,
        **_EXACT,
        "virtual_closed_chain.loops": values("mechanism", f"loops/{mechanism}.yaml"),
        "virtual_closed_chain.link": "tip",
        **{f"virtual_closed_chain.{name}": gain for name, gain in _VIRTUAL_GAINS[mechanism].items()},
    }
    if mechanism == "slider_crank":
        place = float(values["target"] or 1.49)  # [m] Takahashi 2012, sec. 7.2.3
        target: Parameters = {"pose": values("target", [place, 0.0, 0.0, 0.0, 0.0, 0.0])}
    else:
        angle = math.radians(float(values["target"] or 0.0))
        target = {"joints": ["joint_1"], "positions": values("target", [angle])}
    return [
        robot,
        controller_node(values, control),
        *watchers(values, picture),
        *target_node(values, target),
    ]


@_setup(
    "hoap2_balance",
    "The humanoid HOAP-2, balancing when it is pushed",
    Argument("feet", "clamped", "whether the feet are fixed to the ground, or may lift", ("clamped", "free")),
    Argument(
        "strategy",
        "upper_body_rotation",
        "balance strategy (Takahashi 2012, sec. 6.3); none: no controller, servos hold the joints",
        ("upper_body_rotation", "combined", "springs", NONE),
    ),
)
def _hoap2_balance(values: SetupValues) -> list[Process]:
    is_clamped, strategy, picture = values["feet"] == "clamped", values["strategy"], "hoap2_balance"
    own: Parameters = {"robot": values("feet", "hoap2_standing"), **_EACH_STEP}
    if not is_clamped:
        own = {
            "robot": values("feet", "hoap2_10dof"),
            "base": values("feet", "floating"),
            "contact": values("feet", "on"),
            "world_frame": values("feet", "odom"),
            **_EACH_STEP,
        }
    control: Parameters = {
        "controller": "balance",
        # The model of the controller stands on clamped feet, also if those of the simulated robot may lift.
        "robot": "hoap2_standing",
        "balance.strategy": values("strategy"),
        **_BESIDE_SIMULATION,
        # A floating robot has another state, with the same joints. With delays of a millisecond or two a foot in the
        # air is too light for the gain 50 [N m s/rad] of eq. 6.13, and its rotors oscillate under eq. 6.7.
        **(_EXACT if is_clamped else {"balance.ankle_gain": 10.0, "balance.full_angle": 0.2}),
    }
    return [
        dynamics_node(values, picture, own),
        *([controller_node(values, control)] if strategy != NONE else []),
        *watchers(values, picture, "world" if is_clamped else "odom"),
    ]


# --- devices --------------------------------------------------------------------------------------------------------
_HAND = "flange"
_COMPLIANCE = "compliance"
_ARM_CONTROLLERS = (
    "pose_servo",
    "joint_trajectory",
    "computed_torque",
    "impedance",
    _COMPLIANCE,
    "gravity_compensation",
)
# Differences from the default settings of the controllers.
_ARM_SETTINGS: Mapping[str, Parameters] = {
    "pose_servo": {"link": _HAND},
    "impedance": {"space": "link", "link": _HAND},
    _COMPLIANCE: {"link": _HAND},
}
_ARM_START = [0.0, math.pi / 6, 0.0, math.pi / 2, 0.0, math.pi / 3, 0.0]  # [rad] non-singular configuration
_SENSOR_JOINT = "flange_fixed"  # between arm and hand, where the simulated sensor measures


def _arm_arguments(backends: tuple[str, ...], controllers: tuple[str, ...]) -> tuple[Argument, ...]:
    """Arguments of the PA-10; the first entry of each tuple is the default."""
    return (
        backend(*backends),
        Argument("controller", controllers[0], "controller (docs/controllers.md)", controllers),
        address("url", "arcnet:arc0"),
        ACTIVATE,
        Argument(
            "sensor",
            AUTO,
            "force/torque sensor in front of the hand; auto: netft if the controller requires one, else none; a "
            "simulation has a built-in one",
            (AUTO, NONE, *SENSORS),
        ),
        address("sensor_url", "udp://192.168.1.1:49152"),
    )


@_setup(
    "pa10_control",
    "The arm PA-10 under a controller, with a target to drag",
    Argument("robot", "pa10", "arm: PA10-7CE, or the older PA-10-7C", ("pa10", "pa10_7c")),
    *_arm_arguments((SIM, EMULATOR, REAL), _ARM_CONTROLLERS),
)
@_setup(
    "pa10_bringup",
    "The real arm PA-10, or an emulated one (backend:=emulator)",
    Argument("variant", "ce", "controller cabinet: PA10-7CE, or the older PA-10-7C", ("ce", "7c")),
    *_arm_arguments((REAL, EMULATOR, SIM), (NONE, *_ARM_CONTROLLERS)),
)
def _arm(values: SetupValues) -> list[Process]:
    """The arm PA-10: simulated or driven, with or without a controller."""
    name, is_device = values["controller"], values.is_driven
    picture = "pa10_bringup" if is_device else "pa10_control"
    of_variant = "variant" if "variant" in values else "robot"
    is_old = values[of_variant] in ("7c", "pa10_7c")
    model = values(of_variant, "pa10_7c" if is_old else "pa10")
    if is_device:
        sensor = _arm_sensor(values)
        devices = {"pa10": "url", **({sensor: "sensor_url"} if sensor else {})}
        own: Parameters = {
            **device_parameters(values, devices, _HAND),
            "pa10.model": model,
            "pa10.driver.variant": values(of_variant, "7c" if is_old else "ce"),
            "world_frame": "world",
            # The arm reports its state every 2 ms.
            **({"publish_rate": 500.0, "rate": 1000.0} if name != NONE else {}),
        }
        found = [hardware_node(values, own)]
        # A device publishes no states while its servos power up; its watchdogs handle missing commands.
        beside: Parameters = {"state_timeout": 2.0, "state_source": "joint_states"}
    else:
        own = {
            "robot": model,
            "initial_positions": list(_ARM_START),
            **({"wrench_rate": 250.0} if name == _COMPLIANCE else {}),
            **_EACH_STEP,
        }
        found = [dynamics_node(values, picture, own)]
        # The wrench of the joint is that of the arm on the hand.
        beside = {**_BESIDE_SIMULATION, **_EXACT, **({"wrench_of": "arm"} if name == _COMPLIANCE else {})}
    settings = _ARM_SETTINGS.get(name, {})
    if name != NONE:
        own_settings = {f"{name}.{setting}": value for setting, value in settings.items()}
        control: Parameters = {"controller": values("controller"), "robot": model, **beside, **own_settings}
        found.append(controller_node(values, control, _SENSOR_JOINT))
    return [*found, *watchers(values, picture)]


def _arm_sensor(values: SetupValues) -> str:
    """Kind of the force/torque sensor of the arm; "" for none.

    Raises:
        InputError: the controller requires a sensor, or a sensor address is given without a sensor.
    """
    wish, needs_one = values["sensor"], values["controller"] == _COMPLIANCE
    if wish == NONE and needs_one:
        raise unusable("sensor", NONE, f"the controller {_COMPLIANCE} requires one; name it or omit the argument.")
    found = SENSORS[0] if wish == AUTO and needs_one else wish if wish in SENSORS else ""
    if values["sensor_url"] and not found:
        words = f"no sensor is selected; name it, such as sensor:={SENSORS[0]}."
        raise unusable("sensor_url", values["sensor_url"], words)
    return found


@_setup(
    "khr1_bringup",
    "The real humanoid KHR-1 on its serial line, or an emulated one (backend:=emulator)",
    backend(REAL, EMULATOR, SIM),
    address("port", "/dev/ttyUSB0"),
    ACTIVATE,
    Argument(
        "angle_map",
        "",
        "path of a YAML file with channels, signs, zeros and limits of the servos; empty: config/khr1_angle_map.yaml",
    ),
)
def _khr1_bringup(values: SetupValues) -> list[Process]:
    if not values.is_driven:
        simulated = {"robot": "khr1", "base": "floating", "contact": "on", "world_frame": "odom"}
        return [dynamics_node(values, "khr1_sim", simulated), *watchers(values, "khr1_sim")]
    own: Parameters = {
        **device_parameters(values, {"khr1": "port"}),
        **({"khr1.driver.angle_map": values("angle_map")} if values["angle_map"] else {}),
        "world_frame": "world",
    }
    return [hardware_node(values, own), *watchers(values, "khr1_bringup")]


@_setup(
    "ft_sensor",
    "A force/torque sensor, real or emulated (backend:=emulator), that publishes its wrench",
    Argument(
        "sensor",
        SENSORS[0],
        "sensor: ATI Net F/T, Wacoh-Tech DynPick, OnRobot HEX, or Robotiq FT 300",
        SENSORS,
    ),
    backend(REAL, EMULATOR),
    address("url", "udp://192.168.1.1:49152 or /dev/ttyUSB0"),
    Argument("frame", "", "frame of the wrenches, such as a link; empty: the kind of the sensor"),
    Argument(
        "parent",
        AUTO,
        "parent of the frame of the wrenches on /tf_static; auto: world, or not published if frame is given; "
        "empty: not published",
    ),
    Argument(
        "mounting",
        "",
        "pose of the frame in parent: x, y, z [m], roll, pitch, yaw [rad]; empty: identical to parent",
    ),
    idle="",
)
def _ft_sensor(values: SetupValues) -> list[Process]:
    name = values["sensor"]
    frame, parent, pose = values["frame"] or name, values["parent"], numbers(values["mounting"])
    if parent == AUTO:  # a given frame may be a link, which has a pose
        parent = "" if values["frame"] else COMMON_WORLD
    own: Parameters = {
        **device_parameters(values, {name: "url"}, frame),
        f"{name}.parent": values("parent", parent),
        **({f"{name}.mounting": values("mounting", pose)} if pose else {}),
    }
    return [hardware_node(values, own), *watchers(values, "ft_sensor", frame)]


@_setup(
    "loop_state_publisher",
    "Complete joint states and frames of a robot with closed loops, from the motor states of its driver",
    Argument(
        "robot",
        "",
        "path of a URDF, xacro, MJCF or SDFormat file, or a name from `ada list`; empty: from the topic "
        "robot_description",
    ),
    Argument("loops", "", "path of a file with joints that close loops; empty: none"),
    Argument("states", "motor_states", "topic on which the driver publishes the joint states that it measures"),
    idle="",
)
def _loop_state_publisher(values: SetupValues) -> list[Process]:
    own: Parameters = {"robot": values("robot"), "loops": values("loops")}
    return [loop_state_publisher(values, own), *watchers(values, "display")]
