# SPDX-License-Identifier: Apache-2.0
"""Settings (settings.py) as parameters of a ROS 2 node; imports rclpy.

    parameters = Parameters(node, Rates, on_change=lambda old, new: ...)
    parameters.value.physics_rate              # readable at any time from any thread
    refuse_unknown_overrides(node)             # after all declarations

rclpy refuses invalid values without naming the range, integers for floating-point parameters, and empty lists; and it
silently ignores undeclared names. Here `settings.checked` checks each value before rclpy does.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ada_dynamics.errors import AdaError, InputError, unknown_name
from ada_robot.ros.parameter_files import wildcard_parameters
from ada_robot.settings import Setting, Value, as_mapping, checked, fields_of

S = TypeVar("S")

_TYPES = {
    "bool": Parameter.Type.BOOL,
    "int": Parameter.Type.INTEGER,
    "float": Parameter.Type.DOUBLE,
    "str": Parameter.Type.STRING,
    "floats": Parameter.Type.DOUBLE_ARRAY,
    "strs": Parameter.Type.STRING_ARRAY,
}
_ATTRIBUTE = "_ada_parameter_changes"  # attribute of a node
_IN_EVERY_NODE = "use_sim_time"
_DECLARED_BY_OTHERS = ("qos_overrides.",)  # declared by rclpy for topics that allow it


class Parameters(Generic[S]):
    """Settings of one class as parameters of a node.

    Attributes:
        value: present settings, replaced by a change at run time after all checks.
    """

    value: S

    def __init__(
        self,
        node: Node,
        cls: type[S],
        *,
        prefix: str = "",
        beside: Sequence[str] = (),
        on_change: Callable[[S, S], None] | None = None,
    ) -> None:
        """Declare the parameters with their initial values.

        Args:
            node: node of the parameters.
            cls: settings class.
            prefix: prefix of all names, such as "servo.s1" for servo.s1.stiffness.
            beside: further prefixes below `prefix` whose parameters are declared separately, such as "gains" for
                servo.s1.gains.
            on_change: called with the old and the new settings before a change; an AdaError refuses the request. If a
                later check refuses the request, it is called again with both exchanged.

        Raises:
            InputError: if an initial value is invalid.
        """
        self.cls = cls
        self.prefix = prefix + "." if prefix else ""
        self.on_change = on_change
        self.settings = {self.prefix + one.name: one for one in fields_of(cls)}
        self._node = weakref.ref(node)
        self.value = _start_settings(node, cls, self.prefix, beside)
        for name, value in self.typed(self.value).items():
            _declare(node, name, value, self.settings[name])
        _Changes.of(node).groups.append(self)

    def checked(self, values: dict[str, Any]) -> S:
        """Return the present settings with some values replaced, by full parameter names, after a check."""
        own = {name.removeprefix(self.prefix): value for name, value in values.items()}
        return checked(self.cls, {**as_mapping(self.value), **own}, prefix=self.prefix)

    def typed(self, settings: S) -> dict[str, Value]:
        """Return the values of settings by full names."""
        return {self.prefix + name: value for name, value in as_mapping(settings).items()}


def _start_settings(node: Node, cls: type[S], before: str, beside: Sequence[str]) -> S:
    """Return settings with the initial values passed to a node."""
    overrides = _overrides(node)
    known = {before + one.name: one for one in fields_of(cls)}
    # all names with this prefix, to detect unknown ones
    others = tuple(f"{before}{one}." for one in beside)
    names = [
        name
        for name in overrides
        if name in known or (before and name.startswith(before) and not (others and name.startswith(others)))
    ]
    given = {name.removeprefix(before): overrides[name].value for name in names}
    for one in known.values():
        if one.kind in ("floats", "strs") and given.get(one.name, ()) is None:
            given[one.name] = []  # rcl reads an empty list as unset
    return checked(cls, given, prefix=before)


class _Request(NamedTuple):
    """Request in progress: parameters passed to rclpy, new settings per group, and the refusal."""

    parameters: list[Parameter]
    changes: list[tuple[Parameters[Any], Any]]
    refusal: str | None


class _Changes:
    """Checks requests to change parameters of a node, across all its `Parameters`.

    rclpy calls in this order: the pre-set callback, which may rewrite the request, its own checks (name, type, range,
    read-only), the on-set callback, which may refuse, and after the change the post-set callback. Requests are checked
    in the first one, because rclpy's messages do not name the allowed values. A refused request is replaced by one
    without effect, which the on-set callback refuses with the message.
    """

    def __init__(self, node: Node) -> None:
        self.groups: list[Parameters[Any]] = []
        self._node = weakref.ref(node)
        self._pending = threading.local()  # services and the node itself may change parameters at the same time
        # rclpy concatenates the results of several callbacks, so that only one of each is registered
        node.add_pre_set_parameters_callback(self._rewrite)
        node.add_on_set_parameters_callback(self._judge)
        node.add_post_set_parameters_callback(self._commit)

    @classmethod
    def of(cls, node: Node) -> _Changes:
        """Return the object of a node, stored in the node: a global table would keep nodes alive."""
        found: _Changes | None = getattr(node, _ATTRIBUTE, None)
        if found is None:
            found = cls(node)
            setattr(node, _ATTRIBUTE, found)
        return found

    def _rewrite(self, requested: Sequence[Parameter]) -> list[Parameter]:
        """Convert a request to the declared types; a refused request becomes a request without effect."""
        parameters = {parameter.name: parameter for parameter in requested}
        try:
            changes = self._changes(parameters)
            request = _Request(list(parameters.values()), changes, None)
        except AdaError as problem:
            node: Any = self._node()
            request = _Request([node.get_parameter(_IN_EVERY_NODE)], [], _one_line(problem))
        self._pending.request = request
        return list(request.parameters)

    def _changes(self, parameters: dict[str, Parameter]) -> list[tuple[Parameters[Any], Any]]:
        """Return the new settings of each group, and convert its parameters to the declared types.

        Raises:
            InputError: if a parameter is undeclared or read-only, or a value is invalid.
        """
        node: Any = self._node()
        for name in parameters:
            if not node.has_parameter(name):
                raise unknown_name(f"parameter of {node.get_name()}", name, _declared(node))
        changes = []
        for group in self.groups:
            values = {name: parameter.value for name, parameter in parameters.items() if name in group.settings}
            for name in values:
                if group.settings[name].read_only:
                    raise InputError(f"parameter {name} is read-only: restart the node with -p {name}:=VALUE.")
            if values:
                new = group.checked(values)
                typed = group.typed(new)
                parameters.update({name: _parameter(name, typed[name], group.settings[name]) for name in values})
                changes.append((group, new))
        return changes

    def _judge(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        request = self._request(parameters)
        if request is None:
            return SetParametersResult(successful=True)
        reason = request.refusal
        done: list[tuple[Parameters[Any], Any]] = []
        for group, new in request.changes if reason is None else []:
            if group.on_change is None or new == group.value:
                continue
            try:
                group.on_change(group.value, new)
            except AdaError as problem:
                reason = _one_line(problem)
                break
            done.append((group, new))
        if reason is None:
            return SetParametersResult(successful=True)
        for group, new in reversed(done):
            group.on_change(new, group.value)
        return SetParametersResult(successful=False, reason=reason)

    def _commit(self, parameters: Sequence[Parameter]) -> None:
        request = self._request(parameters)
        for group, new in request.changes if request is not None else []:
            group.value = new

    def _request(self, parameters: Sequence[Parameter]) -> _Request | None:
        """Return the result of `_rewrite` for this request; None for declarations, for which rclpy skips it."""
        request: _Request | None = getattr(self._pending, "request", None)
        if request is None or [id(one) for one in request.parameters] != [id(one) for one in parameters]:
            return None
        return request


def _overrides(node: Node) -> dict[str, Parameter]:
    """Return the values from `-p` and parameter files, which rclpy does not expose before their declaration."""
    found: dict[str, Parameter] = node._parameter_overrides
    return found


def _declare(node: Node, name: str, value: Value, one: Setting) -> None:
    descriptor = _descriptor(one)
    if value != ():
        node.declare_parameter(name, _parameter(name, value, one).value, descriptor, ignore_override=True)
        return
    # rclpy cannot infer the type of an empty list: declare by type, then set and describe
    kind = _TYPES[one.kind]
    node.declare_parameter(name, kind, ParameterDescriptor(), ignore_override=True)
    node.set_parameters_atomically([Parameter(name, kind, [])])
    descriptor.type = kind.value
    node.set_descriptor(name, descriptor)


def _parameter(name: str, value: Value, one: Setting) -> Parameter:
    return Parameter(name, _TYPES[one.kind], list(value) if isinstance(value, tuple) else value)


def _descriptor(one: Setting) -> ParameterDescriptor:
    unit = f" [{one.unit}]" if one.unit else ""
    descriptor = ParameterDescriptor(
        description=one.description + unit, additional_constraints=one.allowed, read_only=one.read_only
    )
    is_bounded = one.lower is not None or one.upper is not None
    # ROS 2 has no one-sided ranges, and its tools do not display infinity properly
    greatest = sys.float_info.max if one.kind == "float" else 2**63 - 1
    lower = -greatest if one.lower is None else one.lower
    upper = greatest if one.upper is None else one.upper
    if one.kind == "float" and is_bounded:
        bounds = FloatingPointRange(from_value=float(lower), to_value=float(upper), step=0.0)
        descriptor.floating_point_range = [bounds]
    if one.kind == "int" and is_bounded:
        descriptor.integer_range = [IntegerRange(from_value=int(lower), to_value=int(upper), step=0)]
    return descriptor


def refuse_unknown_overrides(node: Node, later: tuple[str, ...] = (), arguments: Sequence[str] | None = None) -> None:
    """Refuse initial values of undeclared parameters; to be called after all declarations.

    Parameters in blocks for several nodes, such as `/**`, may belong to other nodes: they cause a warning only.

    Args:
        node: node of the parameters.
        later: prefixes of names that are declared later.
        arguments: arguments of the process, with the parameter files; None for sys.argv.

    Raises:
        InputError: if there are undeclared ones; the message suggests similar names.
    """
    unknown = [name for name in _overrides(node) if not node.has_parameter(name)]
    unknown = [name for name in unknown if not name.startswith((*_DECLARED_BY_OTHERS, *later))]
    if not unknown:
        return
    for_many = wildcard_parameters(sys.argv[1:] if arguments is None else arguments)
    passed_over = [name for name in unknown if name in for_many]
    if passed_over:
        node.get_logger().warning(
            f"unknown parameters of {node.get_name()}: {', '.join(passed_over)}; ignored, because they are in a block "
            "for several nodes (such as /**) of a parameter file."
        )
    wrong = [name for name in unknown if name not in for_many]
    if not wrong:
        return
    problem = unknown_name(f"parameter of {node.get_name()}", wrong[0], _declared(node))
    others = f" Also unknown: {', '.join(wrong[1:])}." if len(wrong) > 1 else ""
    raise InputError(f"{problem}{others}", field="parameter", value=wrong[0], allowed=problem.allowed)


def _declared(node: Node) -> list[str]:
    return sorted(name for name in node.list_parameters([], 0).names if not name.startswith(_DECLARED_BY_OTHERS))


def _one_line(problem: BaseException) -> str:
    return " ".join(str(problem).split())
