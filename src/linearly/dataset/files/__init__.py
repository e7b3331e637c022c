"""The files package."""
