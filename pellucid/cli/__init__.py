"""The `pellucid` command: its options and exit codes. What a command does is in the module of its name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pellucid.version import __version__

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended


def make_parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    from pellucid.cli.train_options import add_arguments, positive

    parser = argparse.ArgumentParser(prog="pellucid", description="Deep learning you can read down to the kernel.")
    parser.add_argument("--version", action="version", version=f"pellucid {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser("demo", help="train a network on handwritten digits, about a minute")
    demo.add_argument("--output", type=Path, default=Path("runs/digits"), help="where results go (runs/digits)")
    demo.add_argument("--epochs", type=positive(int), default=30, help="passes over the training images (30)")
    demo.add_argument("--seed", type=int, default=0, help="seed of all random numbers (0)")
    add_arguments(commands.add_parser("train", help="train a network on your own folder of images"))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    from pellucid.cli.errors import CommandError

    try:
        run(options)
    except CommandError as error:
        print(f"pellucid {options.command}: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # a folder that cannot be written, a full disk: the system's words name the file
        print(f"pellucid {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def run(options: argparse.Namespace) -> None:
    """Load what the chosen command needs, and run it."""
    if options.command == "demo":
        import pellucid
        from pellucid.cli.demo import run_demo

        pellucid.set_num_threads(1)  # its matrices are so small that a second core costs more than it does
        run_demo(options.output, options.epochs, options.seed)
    else:
        from pellucid.cli.train import run_train

        run_train(options)
