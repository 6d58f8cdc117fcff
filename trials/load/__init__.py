# SPDX-License-Identifier: Apache-2.0
"""Much of everything: commands, subscribers, robots, rows. What is too much is refused, or said, and nothing breaks."""
