"""How models learn: summaries of rows, objectives, optimizers."""
