"""`torch.backends`: what PyTorch's libraries are asked. The flags can be set and read back; none of the libraries is used here."""

from pellucid.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
