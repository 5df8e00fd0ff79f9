"""What happens when an operator is called. Reading order: ARCHITECTURE.md."""
