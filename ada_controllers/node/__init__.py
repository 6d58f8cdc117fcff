# SPDX-License-Identifier: Apache-2.0
"""ROS 2 node of the controllers: conversion of messages, no control."""
