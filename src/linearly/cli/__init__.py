"""The command line: one file a command group. Nothing heavy is imported until a command runs."""
