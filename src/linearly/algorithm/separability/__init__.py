"""The separability package."""
