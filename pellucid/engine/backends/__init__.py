"""How operators go fast, never what they mean: one package per device, found by core's registry on first use."""
