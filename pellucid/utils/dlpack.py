"""PyTorch's place for DLPack; the work is done in engine/tensor/dlpack.py."""

from enum import IntEnum

from pellucid.engine.tensor.dlpack import from_dlpack, to_dlpack


class DLDeviceType(IntEnum):
    """The device numbers of dlpack.h.

    >>> from pellucid.utils.dlpack import DLDeviceType
    >>> int(DLDeviceType.kDLCUDA)
    2
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
