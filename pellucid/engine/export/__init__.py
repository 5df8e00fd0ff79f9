"""File formats: PyTorch's archives and legacy files, safetensors. Nothing here runs an operator."""
