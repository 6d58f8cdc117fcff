# SPDX-License-Identifier: Apache-2.0
"""Bills of material: whole, closed in themselves, and the same twice."""

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("packaging", reason="packaging is not installed: pip install '.[dev]'")
TOOLS = Path(__file__).parents[3] / "tools"
SPEC = importlib.util.spec_from_file_location("sbom", TOOLS / "sbom.py")
sbom = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(sbom)


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
