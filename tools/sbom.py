# SPDX-License-Identifier: Apache-2.0
"""Bills of material: what each extra of the installed package stands on, as CycloneDX 1.6, and an audit of all of it.

    python tools/sbom.py FOLDER

Written from the metadata of what is installed: a generator would bring ten packages, and writes what the whole
environment has, not what an extra needs. Two runs write the same bytes: no time of day, no serial number, all sorted.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "ada-dynamics"


def needed(name: str, extras: frozenset[str], found: dict[str, set[str]], seen: set[tuple[str, str]]) -> None:
    """Add to `found` what a distribution needs directly, by canonical name, and so on for each of them."""
    found.setdefault(name, set())
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    for extra in {"", *extras}:
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                other = canonicalize_name(requirement.name)
                found[name].add(other)
                needed(other, frozenset(requirement.extras), found, seen)


@functools.cache
def component(name: str) -> dict[str, Any]:
    """A distribution that is installed."""
    about = metadata.metadata(name)
    version = str(about["Version"])
    address = f"pkg:pypi/{name}@{version}"
    made: dict[str, Any] = {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
    if about["License-Expression"]:
        made["licenses"] = [{"expression": about["License-Expression"]}]
    return made


@functools.cache
def installed() -> frozenset[str]:
    """Canonical names of all distributions."""
    return frozenset(canonicalize_name(str(each.metadata["Name"])) for each in metadata.distributions())


def bill(extra: str) -> dict[str, Any]:
    """The bill of material of an extra; "" is the package without extras."""
    found: dict[str, set[str]] = {}
    needed(PACKAGE, frozenset({extra} - {""}), found, set())
    here = installed()
    parts = {name: component(name) for name in sorted(here & set(found))}
    references = {name: part["bom-ref"] for name, part in parts.items()}
    own = parts.pop(PACKAGE)
    missing = [{"name": "ada_dynamics:not_installed", "value": name} for name in sorted(set(found) - here)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own, "properties": missing},
        "components": list(parts.values()),
        "dependencies": [
            {"ref": references[name], "dependsOn": sorted(references[other] for other in found[name] & here)}
            for name in sorted(references)
        ],
    }


def write(folder: Path) -> list[Path]:
    """Write the bill of each extra, and base.json, that of the package without extras."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for extra in ["", *sorted(metadata.metadata(PACKAGE).get_all("Provides-Extra") or [])]:
        file = folder / f"{extra or 'base'}.json"
        file.write_text(json.dumps(bill(extra), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        written.append(file)
    return written


def audit() -> int:
    """Ask pip-audit for known weaknesses; says so where it could not ask. 1 if there are any."""
    asked = [sys.executable, "-m", "pip_audit", "--local", "--skip-editable", "--progress-spinner", "off", "-f", "json"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=600)
    try:
        answers = json.loads(done.stdout)["dependencies"]
    except ValueError:  # it ends with 1 in both cases, but only answers are JSON
        print(f"not audited: pip-audit got no answer: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
        return 0
    skipped = [each["name"] for each in answers if "skip_reason" in each]  # the index has no word on it: not sound
    if skipped:
        print(f"not audited, unknown to the service that pip-audit asks: {', '.join(skipped)}")
    weak = [f"{each['name']} {each['version']}: {one['id']}" for each in answers for one in each.get("vulns", [])]
    told = f"pip-audit: {len(weak)} known weaknesses in {len(answers) - len(skipped)} packages"
    print("\n".join([*weak, told]))
    return 1 if weak else 0


if __name__ == "__main__":
    for path in write(Path(sys.argv[1])):
        print(path)
    sys.exit(audit())
