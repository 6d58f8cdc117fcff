# SPDX-License-Identifier: Apache-2.0
"""What all tests share: the import path of test/support, the kernel cache, and reports of crashed workers."""

import faulthandler
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))  # pytest's "importlib" mode leaves the path alone

LONGEST_ID = 80  # characters


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="of each file the first test that is not slow")


def pytest_make_parametrize_id(val, argname):
    """Shorten the ids of long texts to the argument's name and the first characters."""
    if isinstance(val, (str, bytes)) and len(val) > LONGEST_ID:
        return f"{argname}-{val[:20]!r}"
    return None


def why_no_device():
    from ada_dynamics.errors import DeviceError
    from ada_dynamics.gpu.cuda_driver import count

    try:
        count()
    except DeviceError as problem:
        return str(problem)
    return ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Skip GPU tests on a machine without a GPU; with --quick, keep the first test of each file."""
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


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Write the traceback of a crashed worker to a file, because xdist reports only that it crashed."""
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
    folder = crashes(config)
    for kept in sorted(folder.iterdir()) if folder is not None else []:
        if text := kept.read_text(errors="replace"):
            terminalreporter.section(f"crash of worker {kept.name}")
            terminalreporter.write(text)


def crashes(config):
    """Folder of the tracebacks of crashed workers; None with -p no:cacheprovider."""
    kept = getattr(config, "cache", None)
    return None if kept is None else kept.mkdir("ada_crashes")


def pytest_runtest_logreport(report):
    """Print a failure when it happens, so that an interrupted run shows it, too."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        last = str(report.longreprtext).strip().splitlines()[-1:]
        print(f"\n{report.nodeid} failed ({report.when}):", *last, flush=True)


@pytest.fixture(autouse=True, scope="session")
def kernel_cache(pytestconfig, tmp_path_factory):
    """One kernel cache for all workers, kept from run to run, apart from the user's own."""
    kept = getattr(pytestconfig, "cache", None)  # none with -p no:cacheprovider
    folder = tmp_path_factory.getbasetemp() if kept is None else kept.mkdir("ada_dynamics")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADA_CACHE_DIR", str(folder / "kernels"))
        yield


@pytest.fixture(autouse=True)
def same_priority():
    """Fail a test that leaves this process with another scheduling priority."""
    before = priority()
    yield
    assert priority() == before


@pytest.fixture
def ada(capsys):
    """Run the command `ada` in this process; return exit code, output and errors."""

    def run(*arguments):
        from ada_tools import cli

        code = cli.main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def write(tmp_path):
    """Write a text into a file of the test's own folder, or of a folder in it; return its path."""

    def write(text, name="robot.urdf"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def priority():
    """Niceness and, on Linux, scheduling class of this process."""
    scheduler = getattr(os, "sched_getscheduler", lambda process: None)
    return os.getpriority(os.PRIO_PROCESS, 0), scheduler(0)
