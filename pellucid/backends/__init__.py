"""`torch.backends`: questions about PyTorch's libraries, none of which is used here; flags hold what was set."""

from pellucid.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
