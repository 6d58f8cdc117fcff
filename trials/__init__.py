"""Trials that run for minutes to nights: what they find out stands in docs/trust.md, with command, date and seed."""
