# SPDX-License-Identifier: Apache-2.0
"""Settings (settings.py) as parameters of a ROS 2 node; imports rclpy.

    parameters = Parameters(node, Rates, on_change=lambda old, new: ...)
    parameters.value.physics_rate              # at any time, from any thread
    refuse_unknown_overrides(node)             # once all are declared

rclpy alone refuses a wrong value without its range, a whole number where a number is wanted, and an empty list; and it
takes names that nobody declared without a word. Here each value is checked by `settings.checked` before rclpy sees it.
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
_ATTRIBUTE = "_ada_parameter_changes"  # of a node
_LARGEST_INTEGER = 2**63 - 1
_IN_EVERY_NODE = "use_sim_time"
_DECLARED_BY_OTHERS = ("qos_overrides.",)  # rclpy declares those of topics that allow it


class Parameters(Generic[S]):
    """The settings of one class as parameters of a node.

    Attributes:
        value: present settings. A change at run time replaces them after all checks have passed.
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
        on_done: Callable[[S], None] | None = None,
    ) -> None:
        """Declare the parameters, with the values that the node was started with.

        Args:
            node: whose parameters they are.
            cls: settings class.
            prefix: of all names, such as "servo.s1" for servo.s1.stiffness.
            beside: further prefixes behind it whose parameters are declared by others, as "gains" for servo.s1.gains.
            on_change: called with the old and the new settings before these hold; what it raises as AdaError is the
                refusal that the caller gets. Where a later check of the same request refuses, it is called again with
                new and old exchanged.
            on_done: called with the new settings once they hold; here other parameters may come and go.

        Raises:
            InputError: a start value is not allowed.
        """
        self.cls = cls
        self.prefix = prefix + "." if prefix else ""
        self.on_change, self.on_done = on_change, on_done
        self.settings = {self.prefix + one.name: one for one in fields_of(cls)}
        self._node = weakref.ref(node)
        self.value = start_settings(node, cls, prefix=prefix, beside=beside)
        for name, value in self.typed(self.value).items():
            _declare(node, name, value, self.settings[name])
        _Changes.of(node).groups.append(self)

    def close(self) -> None:
        """Undeclare the parameters; `value` stays what it was."""
        node: Any = self._node()
        _Changes.of(node).groups.remove(self)
        for name, one in self.settings.items():
            if one.read_only:  # to be declared anew later, such a one must be able to go
                node._descriptors[name].read_only = False
            node.undeclare_parameter(name)

    def checked(self, values: dict[str, Any]) -> S:
        """The present settings (the defaults, before there are any) with some values, by full names, replaced."""
        own = {name.removeprefix(self.prefix): value for name, value in values.items()}
        present = as_mapping(self.value) if hasattr(self, "value") else {}
        return checked(self.cls, {**present, **own}, prefix=self.prefix)

    def typed(self, settings: S) -> dict[str, Value]:
        """The values of settings by full names."""
        return {self.prefix + name: value for name, value in as_mapping(settings).items()}


def start_settings(node: Node, cls: type[S], *, prefix: str = "", beside: Sequence[str] = ()) -> S:
    """Settings with the values that a node was started with, whether they are declared or not.

    Args:
        node: see `Parameters`.
        cls: likewise.
        prefix: likewise.
        beside: likewise.

    Raises:
        InputError: a start value is not allowed.
    """
    before = prefix + "." if prefix else ""
    overrides = _overrides(node)
    known = {before + one.name: one for one in fields_of(cls)}
    # All names with this prefix: nothing else checks them for wrong ones.
    others = tuple(f"{before}{one}." for one in beside)
    names = [
        name
        for name in overrides
        if name in known or (before and name.startswith(before) and not (others and name.startswith(others)))
    ]
    given = {name.removeprefix(before): overrides[name].value for name in names}
    for one in known.values():
        if one.kind in ("floats", "strs") and given.get(one.name, ()) is None:
            given[one.name] = []  # rcl reads an empty list as "not set"
    return checked(cls, given, prefix=before)


class _Request(NamedTuple):
    """A request on its way: what rclpy got, and what it means for each group of settings."""

    parameters: list[Parameter]
    changes: list[tuple[Parameters[Any], Any]]
    refusal: str | None


class _Changes:
    """Checks requests that change parameters of a node, across all its `Parameters`.

    rclpy calls, in this order: the function that may rewrite the request, its own checks (name, type, range,
    read-only), the function that may refuse, and, once the values hold, the last function. Our refusal must be known at
    the first, because rclpy's own texts do not say what is allowed. The request then goes on as one that changes
    nothing, up to the function that refuses it.
    """

    def __init__(self, node: Node) -> None:
        self.groups: list[Parameters[Any]] = []
        self._node = weakref.ref(node)
        self._pending = threading.local()  # requests may come from services and from the node itself at once
        # rclpy joins the answers of several such functions, so that there can be one only
        node.add_pre_set_parameters_callback(self._rewrite)
        node.add_on_set_parameters_callback(self._judge)
        node.add_post_set_parameters_callback(self._commit)

    @classmethod
    def of(cls, node: Node) -> _Changes:
        """The one of a node, kept in it: a table of all nodes would keep them alive, as callbacks know their node."""
        found: _Changes | None = getattr(node, _ATTRIBUTE, None)
        if found is None:
            found = cls(node)
            setattr(node, _ATTRIBUTE, found)
        return found

    def _rewrite(self, requested: Sequence[Parameter]) -> list[Parameter]:
        """The request in the declared types, or one that changes nothing in place of one that is refused."""
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
        """New settings of each group; replaces its parameters by such of the declared types.

        Raises:
            InputError: an undeclared parameter, one that is fixed, or a value that is not allowed.
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
        changes = request.changes if request is not None else []
        for group, new in changes:
            group.value = new
        for group, new in changes:
            if group.on_done is not None:
                group.on_done(new)

    def _request(self, parameters: Sequence[Parameter]) -> _Request | None:
        """The result of `_rewrite` for this request; None for a declaration, which rclpy does not show to it."""
        request: _Request | None = getattr(self._pending, "request", None)
        if request is None or [id(one) for one in request.parameters] != [id(one) for one in parameters]:
            return None
        return request


def _overrides(node: Node) -> dict[str, Parameter]:
    """Values from `-p` and parameter files. rclpy does not give access to them before they are declared."""
    found: dict[str, Parameter] = node._parameter_overrides
    return found


def _declare(node: Node, name: str, value: Value, one: Setting) -> None:
    descriptor = _descriptor(one)
    if value != ():
        node.declare_parameter(name, _plain(value), descriptor, ignore_override=True)
        return
    # An empty list has no type that rclpy could see: declared by type first, then set, then described.
    kind = _TYPES[one.kind]
    node.declare_parameter(name, kind, ParameterDescriptor(), ignore_override=True)
    node.set_parameters_atomically([Parameter(name, kind, [])])
    descriptor.type = kind.value
    node.set_descriptor(name, descriptor)


def _parameter(name: str, value: Value, one: Setting) -> Parameter:
    return Parameter(name, _TYPES[one.kind], _plain(value))


def _plain(value: Value) -> object:
    return list(value) if isinstance(value, tuple) else value


def _descriptor(one: Setting) -> ParameterDescriptor:
    unit = f" [{one.unit}]" if one.unit else ""
    descriptor = ParameterDescriptor(
        description=one.description + unit, additional_constraints=one.allowed, read_only=one.read_only
    )
    if one.lower is None and one.upper is None:
        return descriptor
    # ROS 2 has no one-sided ranges, and its tools do not show infinity well.
    if one.kind == "float":
        lowest, highest = -sys.float_info.max, sys.float_info.max
        lower = lowest if one.lower is None else float(one.lower)
        upper = highest if one.upper is None else float(one.upper)
        descriptor.floating_point_range = [FloatingPointRange(from_value=lower, to_value=upper, step=0.0)]
    if one.kind == "int":
        least = -_LARGEST_INTEGER if one.lower is None else int(one.lower)
        most = _LARGEST_INTEGER if one.upper is None else int(one.upper)
        descriptor.integer_range = [IntegerRange(from_value=least, to_value=most, step=0)]
    return descriptor


def refuse_unknown_overrides(node: Node, later: tuple[str, ...] = (), arguments: Sequence[str] | None = None) -> None:
    """Refuse start values of undeclared parameters; to be called when all are declared.

    A file's block for many nodes at once, such as `/**`, is for those that have such a parameter: the others warn, as
    everything in ROS at least ignores it.

    Args:
        node: whose parameters they are.
        later: beginnings of names that are declared only later.
        arguments: of the process, where files of parameters are named; None: sys.argv.

    Raises:
        InputError: naming them, with near names.
    """
    unknown = [name for name in _overrides(node) if not node.has_parameter(name)]
    unknown = [name for name in unknown if not name.startswith((*_DECLARED_BY_OTHERS, *later))]
    if not unknown:
        return
    for_many = wildcard_parameters(sys.argv[1:] if arguments is None else arguments)
    passed_over = [name for name in unknown if name in for_many]
    if passed_over:
        node.get_logger().warning(
            f"no parameters of {node.get_name()}: {', '.join(passed_over)}; passed over, since a block for many nodes "
            "(such as /**) of a parameter file has them."
        )
    wrong = [name for name in unknown if name not in for_many]
    if not wrong:
        return
    problem = unknown_name(f"parameter of {node.get_name()}", wrong[0], _declared(node))
    others = f" Nor are there {', '.join(wrong[1:])}." if len(wrong) > 1 else ""
    raise InputError(f"{problem}{others}", field="parameter", value=wrong[0], allowed=problem.allowed)


def _declared(node: Node) -> list[str]:
    return sorted(name for name in node.list_parameters([], 0).names if not name.startswith(_DECLARED_BY_OTHERS))


def _one_line(problem: BaseException) -> str:
    return " ".join(str(problem).split())
