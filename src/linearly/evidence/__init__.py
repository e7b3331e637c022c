"""What may be said about a fitted model: tables, tests, intervals."""
