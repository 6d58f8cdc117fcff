# SPDX-License-Identifier: Apache-2.0
"""Batches on NVIDIA GPUs. Other packages import this one inside functions only; it has never been run on a GPU."""
