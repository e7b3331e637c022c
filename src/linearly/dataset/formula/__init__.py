"""The formula package."""
