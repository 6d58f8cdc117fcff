# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: what they may import, where kernels are kept; none changes the process's priority."""

import faulthandler
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # pytest's "importlib" mode leaves the path alone


LONGEST_ID = 80  # characters


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="of each file the first test that is not slow")


def pytest_make_parametrize_id(val, argname):
    """Long texts are called by their argument and how they begin: names of tests are printed, line by line."""
    if isinstance(val, (str, bytes)) and len(val) > LONGEST_ID:
        return f"{argname}-{val[:20]!r}"
    return None


def why_no_device():
    from ada_dynamics.errors import DeviceError
    from ada_dynamics.jit.gpu import count

    try:
        count()
    except DeviceError as problem:
        return str(problem)
    return ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Pick the tests of `make test-quick`: a file begins with what it is about, so that all rooms are in it.

    Those that need a graphics processor are skipped where there is none.
    """
    wanting = [item for item in items if item.get_closest_marker("gpu")]
    lack = why_no_device() if wanting else ""
    for item in wanting if lack else ():
        item.add_marker(pytest.mark.skip(reason=lack))
    if config.getoption("quick"):
        first = {}
        for item in items:
            if not item.get_closest_marker("slow"):
                first.setdefault(item.path, item)
        kept = list(first.values())
        config.hook.pytest_deselected(items=[item for item in items if first.get(item.path) is not item])
        items[:] = kept


@pytest.hookimpl(optionalhook=True)  # without xdist there is none
def pytest_xdist_auto_num_workers(config):
    """Half as many again as processors: tests of programs wait for much of their time."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + (processors + 1) // 2


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Where a worker crashes is kept, for xdist tells no more than that it did, and shown at the end."""
    folder = crashes(config)
    if folder is None:
        return
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        for old in folder.iterdir():
            old.unlink()
    else:
        faulthandler.enable((folder / worker).open("a"))  # a test may run pytest itself


def pytest_terminal_summary(terminalreporter, config):
    """What workers said when they crashed."""
    folder = crashes(config)
    for kept in sorted(folder.iterdir()) if folder is not None else []:
        if text := kept.read_text(errors="replace"):
            terminalreporter.section(f"crash of worker {kept.name}")
            terminalreporter.write(text)


def crashes(config):
    """Folder of what crashed workers said; none with -p no:cacheprovider."""
    kept = getattr(config, "cache", None)
    return None if kept is None else kept.mkdir("ada_crashes")


def pytest_runtest_logreport(report):
    """Name a failure when it happens: of a run that is cut off, nothing else would tell."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        last = str(report.longreprtext).strip().splitlines()[-1:]
        print(f"\n{report.nodeid} failed ({report.when}):", *last, flush=True)


@pytest.fixture(autouse=True, scope="session")
def kernel_cache(pytestconfig, tmp_path_factory):
    """Compiled kernels are kept from run to run, for all workers, and not in the user's own cache."""
    kept = getattr(pytestconfig, "cache", None)  # none with -p no:cacheprovider
    folder = tmp_path_factory.getbasetemp() if kept is None else kept.mkdir("ada_dynamics")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADA_CACHE_DIR", str(folder / "kernels"))
        yield


@pytest.fixture(autouse=True)
def same_priority():
    """No test makes those after it more, or less, important than what runs beside them."""
    before = priority()
    yield
    assert priority() == before


@pytest.fixture
def ada(capsys):
    """Runs the command `ada` in this process; exit code, output and errors."""

    def run(*arguments):
        from ada_tools import cli

        code = cli.main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return run


def priority():
    """Of this process: niceness and, on Linux, scheduling class."""
    scheduler = getattr(os, "sched_getscheduler", lambda process: None)
    return os.getpriority(os.PRIO_PROCESS, 0), scheduler(0)
