# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's assembler accepts the kernels of GPUs, for every generation that is supported."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

import ada_dynamics as ada


def assembler() -> str | None:
    """`ptxas` of the wheel nvidia-cuda-nvcc-cu12, or of an installed toolkit."""
    if importlib.util.find_spec("nvidia") and (found := importlib.util.find_spec("nvidia.cuda_nvcc")):
        for folder in found.submodule_search_locations or ():
            if (path := Path(folder) / "bin/ptxas").exists():
                return str(path)
    return shutil.which("ptxas")


@pytest.mark.skipif(assembler() is None, reason="ptxas is not installed (pip install nvidia-cuda-nvcc-cu12)")
@pytest.mark.parametrize(
    ("robot", "quantity", "bits", "capability"),
    [
        *(("pa10", "forward", 64, capability) for capability in (70, 75, 80, 86, 89, 100, 120)),
        *((robot, "forward", bits, 90) for robot in ("pa10", "five_bar", "stewart", "bennett") for bits in (32, 64)),
        ("five_bar", "inverse", 64, 90),
    ],
)
def test_kernels_assemble(robot: str, quantity: str, bits: int, capability: int, tmp_path: Path) -> None:
    kernel = ada.Dynamics(ada.load(robot), device="host").thread_kernel(quantity, bits=bits)
    source, result = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
    source.write_text(kernel.ptx(capability))
    command = [str(assembler()), f"-arch=sm_{capability}", str(source), "-o", str(result)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert result.stat().st_size > 1000
