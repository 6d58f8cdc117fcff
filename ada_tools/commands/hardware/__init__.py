# SPDX-License-Identifier: Apache-2.0
"""Actions of `ada hw`, one module each, with NAME, SUMMARY, DETAILS, add_arguments and run."""
