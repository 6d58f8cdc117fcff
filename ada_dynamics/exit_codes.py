# SPDX-License-Identifier: Apache-2.0
"""What `ada` says to the shell when it ends, where that is the same for all commands."""

USAGE_ERROR = 2
INTERRUPTED = 130  # as shells count: 128 + SIGINT
PIPE_CLOSED = 141  # 128 + SIGPIPE
