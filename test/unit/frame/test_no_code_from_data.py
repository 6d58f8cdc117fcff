# SPDX-License-Identifier: Apache-2.0
"""No product file can turn data into code, or text into a shell's command: read from the syntax trees."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
FILES = sorted(file for top in ("ada_*", "experiments", "launch") for file in ROOT.glob(f"{top}/**/*.py"))
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
CALLS = {"eval", "exec", "os.system", "os.popen", "tempfile.mktemp", "yaml.load", "yaml.unsafe_load", "yaml.full_load"}
LAST_WORDS = {call.rpartition(".")[2] for call in CALLS}
ALLOWED = {
    # Kernels without a compiler: source that is made of our own expression graph, whose names are its own.
    ("ada_dynamics/jit/fallback.py", "exec")
}


def found_in(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.partition(".")[0] in MODULES}
        elif isinstance(node, ast.ImportFrom):
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (full & CALLS) | {name for name in full if name.partition(".")[0] in MODULES}
        elif isinstance(node, ast.Call):
            if getattr(node.func, "attr", getattr(node.func, "id", "")) in LAST_WORDS:
                found |= {ast.unparse(node.func)} & CALLS
            found |= {
                f"{option.arg}=True"
                for option in node.keywords
                if option.arg in ("shell", "allow_pickle")
                and not (isinstance(option.value, ast.Constant) and option.value.value is False)
            }
    return found


def test_no_product_file_runs_what_it_reads():
    assert len(FILES) > 500
    found = {
        (file.relative_to(ROOT).as_posix(), what)
        for file in FILES
        for what in found_in(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == ALLOWED
