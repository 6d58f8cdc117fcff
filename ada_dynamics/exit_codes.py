# SPDX-License-Identifier: Apache-2.0
"""What `ada` says to the shell when it ends, where that is the same for all commands."""

USAGE_ERROR = 2
OUTPUT_LOST = 74  # EX_IOERR of sysexits.h: a full disk, a terminal that has gone
INTERRUPTED = 130  # as shells count: 128 + SIGINT
PIPE_CLOSED = 141  # 128 + SIGPIPE
