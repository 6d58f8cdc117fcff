# SPDX-License-Identifier: Apache-2.0
"""Findings of a check, and the report that collects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ada_dynamics.display import NotebookDisplay

SEVERITIES = ("error", "warning", "note")
MOST_OF_A_KIND = 100  # findings of one code that are kept
MOTORS = ("motors-not-named", "idle-rotation", "under-actuated", "over-actuated")  # findings that are listed first
_SHOWN = 8  # names in a message


@dataclass(frozen=True)
class CheckFinding:
    """A problem or peculiarity of a robot description.

    Attributes:
        code: short name of the rule, such as "limit-missing".
        severity: "error" (results are wrong or impossible), "warning" (probable mistake) or "note" (information).
        where: link, joint or element.
        message: description of the problem.
        fix: how to correct it.
        line: line in the file.
    """

    code: str
    severity: str
    where: str
    message: str
    fix: str = ""
    line: int | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}: "
        return f"{self.severity}: {line}{self.where}: {self.message} {self.fix}".rstrip() + f" [{self.code}]"


@dataclass
class CheckReport(NotebookDisplay):
    """Findings of `check`: findings on motors first, then by line.

    Attributes:
        source: file or catalogue name.
        robot: name of the robot.
        findings: all findings, at most MOST_OF_A_KIND of each code.
        left_out: number of further findings, by code.
    """

    source: str
    robot: str = ""
    findings: list[CheckFinding] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def add(self, code: str, severity: str, where: str, message: str, fix: str = "", line: int | None = None) -> None:
        """Add a finding."""
        if code in self.left_out:
            self.left_out[code] += 1
        elif sum(finding.code == code for finding in self.findings) == MOST_OF_A_KIND:
            self.left_out[code] = 1
        else:
            self.findings.append(CheckFinding(code, severity, where, message, fix, line or None))

    def sort(self) -> None:
        """Sort the findings: findings on motors first, then by line."""
        self.findings.sort(key=lambda f: (f.code not in MOTORS, f.line is None, f.line or 0))

    def of(self, severity: str) -> list[CheckFinding]:
        """Return the findings of one severity."""
        return [f for f in self.findings if f.severity == severity]

    @property
    def errors(self) -> list[CheckFinding]:
        """Findings that make results wrong or impossible."""
        return self.of("error")

    @property
    def warnings(self) -> list[CheckFinding]:
        """Findings that are probable mistakes."""
        return self.of("warning")

    @property
    def notes(self) -> list[CheckFinding]:
        """Findings for information."""
        return self.of("note")

    @property
    def ok(self) -> bool:
        """True if there are no errors."""
        return not self.errors

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        counts = {severity: len(self.of(severity)) for severity in SEVERITIES}
        return {**asdict(self), "ok": self.ok, "counts": counts}

    def __str__(self) -> str:
        amounts = {severity: len(self.of(severity)) for severity in SEVERITIES}
        counts = ", ".join(f"{n} {severity}{'' if n == 1 else 's'}" for severity, n in amounts.items())
        robot = f" (robot {self.robot!r})" if self.robot else ""
        lines = [f"{self.source}{robot}: {counts}"]
        lines += [f"  {f}" for severity in SEVERITIES for f in together(self.of(severity))]
        lines += [f"  ... and {n} more of [{code}]" for code, n in self.left_out.items()]
        return "\n".join(lines)


def together(findings: Sequence[CheckFinding]) -> list[CheckFinding]:
    """Findings of one message as one, which names their places."""
    alike: dict[tuple[str, str, str], list[CheckFinding]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.message, finding.fix), []).append(finding)
    found = []
    for same in alike.values():
        places = list(dict.fromkeys(finding.where for finding in same))
        found.append(replace(same[0], where=listed(places) + (f", {len(places)} in all" if len(places) > 1 else "")))
    return found


def listed(names: Sequence[str], form: Callable[[str], str] = str) -> str:
    """Join the first names of a list for a message."""
    return ", ".join(map(form, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
