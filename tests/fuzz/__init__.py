"""Fuzzers: inputs nobody would write, and what must hold of every one of them.

`python tests/fuzz formula model csv columnar --cases 1000 --seed 0`

A case is a number: the seed and the number give the input, so a case that failed can be had again with
``--first NUMBER --cases 1``. What is accepted must be right, what is refused must be refused in our own words, nothing
may be run, and memory and time are bounded. What a fuzzer found is in tests/fuzz/test_fuzz_findings.py for good.
"""
