"""The design package."""
