"""`torch.fft`: re-exports of the Fourier transforms in engine/tensor."""

# ruff: noqa: F401 - re-exports

from pellucid.engine.tensor.fourier import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)
from pellucid.engine.tensor.publishing import publish

publish(globals())
