"""Reports: the facts about a model and the pictures that show them."""
