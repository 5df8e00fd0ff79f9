"""A table of results and its Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field

PAIRS = ["", "Pellucid", "PyTorch", "ratio", "middle half of the ratios"]


@dataclass
class Table:
    """Rows of text under `columns`; `notes` say what was measured and how."""

    title: str
    columns: list[str]
    notes: str
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        if len(cells) != len(self.columns):
            raise ValueError(f"the table has {len(self.columns)} columns, got {len(cells)} cells: {cells}")
        self.rows.append(list(cells))

    def markdown(self) -> str:
        """The table with its title and notes."""
        lines = ["| " + " | ".join(cells) + " |" for cells in [self.columns, ["---"] * len(self.columns), *self.rows]]
        return f"## {self.title}\n\n{self.notes}\n\n" + "\n".join(lines) + "\n"
