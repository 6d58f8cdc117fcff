# SPDX-License-Identifier: Apache-2.0
"""The measures that come with the library."""
