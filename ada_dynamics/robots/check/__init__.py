# SPDX-License-Identifier: Apache-2.0
"""Checks of robot descriptions: `check` returns a report of errors, warnings and notes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from ada_dynamics.model.description import Base
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.check.description import check_description
from ada_dynamics.robots.check.loops import loop_findings
from ada_dynamics.robots.check.report import CheckReport, in_order
from ada_dynamics.robots.load import Source, find_robot, to_model
from ada_dynamics.robots.readers.loops import LoopSource


def check(
    source: Source,
    base: Base | None = None,
    mappings: Mapping[str, object] | None = None,
    loops: LoopSource | None = None,
) -> CheckReport:
    """Report errors, probable mistakes and peculiarities of a robot description.

    Errors make results wrong or impossible; warnings are probable mistakes; notes are for information. A description
    without errors can be loaded, and its loops can be closed.

    Example::

        print(check("robot.urdf"))
        print(check("four_bar.urdf", loops="four_bar.loops.yaml"))

    Args:
        source: name in the catalogue, path of a file, or its text, as for `load`.
        base: "fixed" or "floating" (the root link can move); by default that of the catalogue, else fixed.
        mappings: values of the <xacro:arg>s of a xacro file.
        loops: additional loop joints, as for `load`.

    Returns:
        The report; problems inside a file are findings, not exceptions.

    Raises:
        InputError: an argument is invalid.
        ModelError: the file does not exist.
    """
    report = check_description(source, base, mappings, loops)
    if any(finding.code != "singular" for finding in report.errors):
        return report  # the model cannot be built
    document, robot = find_robot(source, base, mappings=mappings, loops=loops)
    if not robot.loops:
        return report
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the findings contain their content
        found = loop_findings(to_model(document, robot, base), robot, start_of(source), report)
    return CheckReport(report.source, report.robot, in_order(found), report.left_out)
