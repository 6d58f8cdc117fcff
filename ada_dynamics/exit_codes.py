# SPDX-License-Identifier: Apache-2.0
"""Exit codes that all `ada` commands share."""

USAGE_ERROR = 2
OUTPUT_LOST = 74  # EX_IOERR of sysexits.h: a full disk, a terminal that has gone
INTERRUPTED = 130  # as shells count: 128 + SIGINT
PIPE_CLOSED = 141  # 128 + SIGPIPE
