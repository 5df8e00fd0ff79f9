"""What is ours: nothing below has a PyTorch name to protect. Read the folders in the order core, ops, tensor, compiler,
backends, export.
"""
