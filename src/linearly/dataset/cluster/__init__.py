"""The cluster package."""
