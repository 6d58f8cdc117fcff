# SPDX-License-Identifier: Apache-2.0
"""Do the tests see a changed sign? Small changes to the core, one at a time, each of which some test must refuse."""
