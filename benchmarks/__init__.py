"""Speed and memory against the peers that are installed: ``python -m benchmarks [--quick] [names]``."""
