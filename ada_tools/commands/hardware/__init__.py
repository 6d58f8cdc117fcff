# SPDX-License-Identifier: Apache-2.0
"""The actions of `ada hw`, a module each; like commands they have NAME, SUMMARY, DETAILS, add_arguments and run."""
