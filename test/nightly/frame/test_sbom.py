# SPDX-License-Identifier: Apache-2.0
"""Bills of material: whole, closed in themselves, and the same twice."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("packaging", reason="packaging is not installed: pip install '.[dev]'")
TOOLS = Path(__file__).parents[3] / "tools"
SPEC = importlib.util.spec_from_file_location("sbom", TOOLS / "sbom.py")
sbom = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(sbom)


def written(seed):
    """A bill, by a process whose sets have another order."""
    code = f"import json, sys; sys.path.insert(0, {str(TOOLS)!r}); import sbom; print(json.dumps(sbom.bill('test')))"
    asked = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(asked, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


def test_two_runs_write_the_same_bytes():
    first = written("1")
    assert first == written("2")
    assert "timestamp" not in first
    assert "serialNumber" not in first


@pytest.mark.parametrize("extra", ["", "test", "view"])
def test_a_bill_is_closed_in_itself(extra):
    bill = json.loads(json.dumps(sbom.bill(extra)))
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    parts = [bill["metadata"]["component"], *bill["components"]]
    references = [part["bom-ref"] for part in parts]
    assert len(set(references)) == len(references)
    assert all(part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}" for part in parts)
    assert {each["ref"] for each in bill["dependencies"]} == set(references)
    assert {other for each in bill["dependencies"] for other in each["dependsOn"]} <= set(references)
    names = {part["name"] for part in parts}
    assert {"ada-dynamics", "numpy", "llvmlite", "pyyaml"} <= names
    assert ("pytest" in names) is (extra == "test")
