"""Test campaigns that run for minutes to days; docs/validation.md lists their results and commands."""
