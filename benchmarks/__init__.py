"""Benchmarks: costs of the program, as ratios to baselines in the same run.

Run with `make bench`. Not part of the wheel. A suite is a module with `run(options, report)` that yields
figures; `__main__` lists the suites.
"""
