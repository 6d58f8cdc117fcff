# SPDX-License-Identifier: Apache-2.0
"""What is asked of NVIDIA's driver: order in streams, memory, contexts and errors, by a driver without a device."""

import ctypes
import gc

import numpy as np
import pytest
from cuda_driver import Cuda
from jit_examples import close, key_of, states

from ada_dynamics.errors import DeviceError, DeviceMemoryError, DriverTooOldError, NoDeviceError
from ada_dynamics.expr import Traced, trace
from ada_dynamics.gpu.arrays import ArrayView
from ada_dynamics.gpu.cuda_driver import Gpu, driver
from ada_dynamics.gpu.kernels import ThreadKernel, compute, launch
from ada_dynamics.jit import Signature

MIB = 2**20


@pytest.fixture
def installed(monkeypatch):
    """Makes a driver this machine's, under one of its names."""
    load = ctypes.CDLL

    def install(cuda: Cuda, name: str = "libcuda.so.1") -> Cuda:
        def loaded(wanted, *more, **options):
            if wanted == name:
                return cuda
            if str(wanted).startswith("libcuda"):
                raise OSError(wanted)
            return load(wanted, *more, **options)

        monkeypatch.setattr(ctypes, "CDLL", loaded)
        monkeypatch.setattr("sys.platform", "linux")
        driver.cache_clear()
        return cuda

    yield install
    driver.cache_clear()


@pytest.fixture
def cuda(installed):
    """Of which nothing is wrong after a test: every context is as before, and all memory was there."""
    found = installed(Cuda())
    yield found
    gc.collect()
    assert found.live() == []
    assert (found.contexts, found.events, found.fault) == ([], {}, "")


def lines(x, y):
    return Traced({"z": (x[0] * y[0], x[1] - 2.0 * y[0])}, (y[0] + 50.0,))


LINES = trace("lines", {"x": 2, "y": 1}, lines)


def kernel(gpu, **options) -> ThreadKernel:
    return ThreadKernel(Signature.of(LINES), lambda: LINES, key_of(LINES), gpu, **options)


def expected(x, y):
    return np.stack([x[:, 0] * y[:, 0], x[:, 1] - 2.0 * y[:, 0]], axis=1)


def made(cuda, gpu, array: np.ndarray, name: str, columns: bool) -> ArrayView:
    """As another library hands it in, in whose stream it is made."""
    block, laid_out = gpu.allocate(array.nbytes), np.array(array, order="F" if columns else "C")
    stream, flat = cuda.new_stream(), laid_out.T if columns else laid_out
    with gpu.current() as call:
        call("cuMemcpyHtoDAsync_v2", block.address, flat.ctypes.data, array.nbytes, stream)
    strides = tuple(step // array.itemsize for step in laid_out.strides)
    return ArrayView(name, array.shape, array.dtype, strides, block.address, stream, (block, laid_out))


@pytest.mark.parametrize("name", ["libcuda.so.1", "libcuda.so"])
def test_a_driver_is_found_under_either_name_and_started_once(installed, name):
    cuda = installed(Cuda(), name)
    found = driver()
    assert cuda.started
    cuda.started = False
    assert driver() is found and not cuda.started


def test_a_driver_that_is_too_old_or_lacks_a_function_is_not_used(installed):
    cuda = installed(Cuda(version=11010))
    with pytest.raises(DriverTooOldError):
        driver()
    assert not cuda.started
    cuda = installed(Cuda(version=11020))
    del cuda.cuStreamSynchronize
    with pytest.raises(DriverTooOldError):
        Gpu(0).wait()


def test_code_that_the_driver_refuses_is_told_with_its_log_and_other_errors_by_their_numbers(cuda):
    gpu = Gpu(0)
    with pytest.raises(DeviceError) as caught:
        gpu.load(b"// nothing")
    assert all(word in str(caught.value) for word in ("CUDA_ERROR_INVALID_PTX", "no entry"))
    with pytest.raises(DeviceError):
        gpu.load(b".visible .entry other()")
    loaded = kernel(gpu).loaded()
    assert gpu.resources(loaded) == (77, 24)


def test_a_machine_without_a_driver_has_no_device(monkeypatch):
    monkeypatch.setattr("sys.platform", "plan9")
    driver.cache_clear()
    with pytest.raises(NoDeviceError):
        driver()


@pytest.mark.parametrize(("n", "bits", "columns"), [(1, 64, False), (64, 64, True), (150, 32, False)])
def test_batches_of_this_process_go_there_and_back_in_chunks(cuda, n, bits, columns):
    gpu, dtype = Gpu(1), f"f{bits // 8}"
    x, y = (np.asarray(array, dtype, "F" if columns else "C") for array in states(LINES, n))
    (z,), refused = compute(kernel(gpu, bits=bits), [x, y], 2000)
    close([z], [expected(x, y)], 1e-15 if bits == 64 else 1e-6)
    assert not len(refused) and z.dtype == dtype
    assert z.flags.f_contiguous == (columns or n == 1)
    assert len(cuda.launched) == -(-n // (2000 // (5 * bits // 8 + 1)))
    assert {block.device for block in cuda.blocks} == {1}
    assert all(size == 64 and groups * size >= min(n, 48) for groups, size in cuda.launched)


def test_states_are_refused_by_their_numbers_in_whatever_piece_they_are(cuda):
    gpu, (x, y) = Gpu(0), states(LINES, 90)
    y[[0, 41, 88]] = -60.0
    for robust in (None, kernel(gpu, over=64)):
        (z,), refused = compute(kernel(gpu, robust=robust), [x, y], 1000)
        assert refused.tolist() == [0, 41, 88]
        good = np.delete(np.arange(90), refused)
        close([z[good]], [expected(x, y)[good]], 1e-15)


@pytest.mark.parametrize("columns", [False, True])
def test_a_kernel_waits_for_the_streams_in_which_its_arrays_are_made(cuda, columns):
    gpu, (x, y) = Gpu(1), states(LINES, 70)
    arrays = {"x": made(cuda, gpu, x, "x", columns), "y": made(cuda, gpu, y, "y", columns)}
    (z,), refused = launch(kernel(gpu), arrays)
    assert z.is_columns == columns
    close([z.numpy()], [expected(x, y)], 1e-15)
    assert refused.rows().tolist() == []


def test_states_that_a_kernel_refuses_go_to_the_one_that_takes_over(cuda):
    gpu, (x, y) = Gpu(0), states(LINES, 20)
    y[[2, 19]] = -60.0
    free = trace("lines", {"x": 2, "y": 1}, lambda x, y: Traced({"z": lines(x, y).outputs["z"]}, ()))
    taking_over = ThreadKernel(Signature.of(free), lambda: free, "free", gpu, over=64)
    (z,), refused = launch(kernel(gpu, robust=taking_over), {"x": x, "y": y})
    assert refused.rows().tolist() == []
    close([z.numpy()], [expected(x, y)], 1e-15)
    assert launch(kernel(gpu), {"x": x, "y": y})[1].rows().tolist() == [2, 19]


def test_memory_goes_back_after_what_was_asked_for_before(cuda):
    gpu = Gpu(0)
    here, there = np.arange(6.0), np.empty(6)
    block = gpu.allocate(here.nbytes)
    gpu.to_device(block.address, here)
    gpu.clear(block.address + 8, 16)
    gpu.to_host(there, block.address)
    del block
    gc.collect()
    gpu.wait()
    assert there.tolist() == [0.0, 0.0, 0.0, 3.0, 4.0, 5.0]
    assert cuda.live() == []


def test_memory_that_is_not_there_is_told_with_what_is_left(cuda):
    cuda.memory = 3 * MIB
    gpu = Gpu(0)
    block = gpu.allocate(MIB)
    assert (block.size, gpu.free_memory()) == (MIB, 2 * MIB)
    with pytest.raises(DeviceMemoryError):
        gpu.allocate(5 * MIB // 2)
