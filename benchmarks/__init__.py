"""Timings of Pellucid beside PyTorch: one module a benchmark, each with a `run()` that returns a `Table`.

Numbers are printed and kept in RESULTS.md, never asserted: they belong to a machine. See __main__.py for how to run.
"""
