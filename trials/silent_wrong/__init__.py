# SPDX-License-Identifier: Apache-2.0
"""Search for silent errors in the dynamics of mutated robots and states; see docs/test_campaigns.md."""
