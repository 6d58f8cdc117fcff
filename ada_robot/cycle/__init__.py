# SPDX-License-Identifier: Apache-2.0
"""Real-time execution of the safety cycle in a separate process or thread, and its connection to the client."""
