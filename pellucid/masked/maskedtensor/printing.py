"""How masked tensors are written: elements in columns, dashes for those that do not count."""

from __future__ import annotations

from typing import Any


def masked_text(data: Any, mask: Any) -> str:
    """PyTorch's `repr` of a masked tensor."""
    is_float = data.dtype.is_floating_point
    texts = [
        (f"{value:8.4f}" if is_float else str(value)) if counts else "--"
        for value, counts in zip(data.reshape(-1).tolist(), mask.reshape(-1).tolist(), strict=True)
    ]
    if data.dim() == 0:
        return f"MaskedTensor({texts[0]}, {bool(mask)})"
    aligned = [text.rjust(8) if text == "--" else text for text in texts]
    return f"MaskedTensor(\n{_nested(aligned, tuple(data.shape), 2)}\n)"


def _nested(texts: list[str], shape: tuple[int, ...], indent: int) -> str:
    lead = " " * indent
    if len(shape) == 1:
        return f"{lead}[{', '.join(texts)}]"
    size = len(texts) // shape[0] if shape[0] else 0
    parts = [_nested(texts[i * size : (i + 1) * size], shape[1:], indent + 2) for i in range(shape[0])]
    return f"{lead}[\n" + ",\n".join(parts) + f"\n{lead}]"
