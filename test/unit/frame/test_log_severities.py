# SPDX-License-Identifier: Apache-2.0
"""rclpy lets a line of code log at one severity with one set of filters; another raises where it logs."""

import ast
from pathlib import Path

import pytest

import ada_controllers
import ada_hardware
import ada_robot
import ada_tools

METHODS = {"debug", "info", "warning", "warn", "error", "fatal"}
# by another name a logger may be passed on, and its severity no longer stands where it logs
HARMLESS = {"set_level", "get_child", "name", "is_enabled_for", "get_effective_level"}


def loggers(tree):
    """Expressions that are loggers: calls of get_logger, and names that one was given to."""
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and is_get_logger(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [
        node
        for node in ast.walk(tree)
        if is_get_logger(node) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names)
    ]


def is_get_logger(node):
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return "get_logger" in (getattr(called, "attr", ""), getattr(called, "id", ""))


def is_constant(value):
    """A number, a name of a constant, or a sum of such."""
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id.strip("_").isupper())


def faults(source):
    """Where a logger's severity or filters may vary, by line."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = []
    for logger in loggers(tree):
        method = parents[logger]
        if isinstance(method, ast.Assign):
            continue  # a name, whose uses are looked at
        call = parents.get(method)
        if not isinstance(method, ast.Attribute):
            found.append((logger.lineno, "a logger is handed on"))
        elif method.attr in HARMLESS:
            continue
        elif method.attr not in METHODS:
            found.append((logger.lineno, f"{method.attr} gets its severity from elsewhere"))
        elif not (isinstance(call, ast.Call) and call.func is method):
            found.append((logger.lineno, f"the method {method.attr} is handed on"))
        else:
            found += [
                (logger.lineno, f"{word.arg} varies")
                for word in call.keywords
                if word.arg is None or not is_constant(word.value)
            ]
    return found


FILES = [
    path
    for package in (ada_robot, ada_controllers, ada_hardware, ada_tools)
    for path in sorted(Path(package.__file__).parent.rglob("*.py"))
    if "get_logger" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_line_of_a_node_logs_at_one_severity(path):
    assert not faults(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source",
    [
        "say = node.get_logger().error if bad else node.get_logger().warning",
        "node.get_logger().log('x', severity)",
        "logger = node.get_logger()\n(logger.error if bad else logger.warning)('x')",
        "node.get_logger().warning('x', throttle_duration_sec=self.gap)",
        "worker = Worker(node.get_logger())",
    ],
)
def test_what_may_vary_is_found(source):
    assert faults(source)
