# SPDX-License-Identifier: Apache-2.0
"""Common set-up of all tests: profiles of hypothesis, handling of Ctrl-C, path of the experiments."""

import os
import signal
import sys
from pathlib import Path

from hypothesis import settings

# A job in the background of a script ignores SIGINT, and so would all processes that tests start, and end by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The experiments of this checkout, also for the processes that tests start, wherever others are installed.
EXPERIMENTS = str(Path(__file__).parent / "experiments")
sys.path.insert(0, EXPERIMENTS)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (EXPERIMENTS, os.environ.get("PYTHONPATH"))))

# No deadlines: the first example of a property compiles a kernel, the next ones take microseconds.
settings.register_profile("everyday", deadline=None, print_blob=True, max_examples=30)  # new ones in each run
settings.register_profile("fuzz", deadline=None, print_blob=True, max_examples=20_000)
settings.load_profile("everyday")  # `make fuzz` chooses the other one on pytest's command line
