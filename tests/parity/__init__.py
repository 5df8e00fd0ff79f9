"""The same training program run in PyTorch and in Pellucid, from the same seed, compared number by number."""
