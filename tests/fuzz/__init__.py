"""Random programs run in PyTorch and in Pellucid, compared step by step; a failure prints a shrunk program."""
