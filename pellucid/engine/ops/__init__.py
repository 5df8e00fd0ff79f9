"""What every operator means. One file per family; a block is: meaning, meta, one gradient rule per input, onnx."""

from pellucid.engine.ops import arithmetic, comparison, exponential, indexing, joining, linalg, memory, random, ranges, reduce, scan, selection, shape, strided

__all__ = ["arithmetic", "comparison", "exponential", "indexing", "joining", "linalg", "memory", "random", "ranges", "reduce", "scan", "selection", "shape", "strided"]
