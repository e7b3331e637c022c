"""The checks package."""
