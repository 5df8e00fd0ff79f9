"""One table of functions and layers with samples; every entry runs in PyTorch and in Pellucid through every check."""
