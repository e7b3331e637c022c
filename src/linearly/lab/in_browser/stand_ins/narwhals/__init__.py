"""Placeholder: the lab in a browser has no data frames."""
