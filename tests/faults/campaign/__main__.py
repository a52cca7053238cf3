"""Long campaigns: `python -m tests.faults.campaign kills --kills 100 --output FILE`, or `soak`.

Every process is begun here and ended by its number; nothing outside a temporary folder is
written but FILE, in Markdown. Status 0 means that everything was as the reference has it.
"""

import argparse
import secrets
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.faults.campaign import kills, soak


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.campaign", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("kills", "kill runs at random moments"), ("soak", "use everything")):
        command = commands.add_parser(name, help=text)
        command.add_argument("--output", type=Path, help="file for the summary")
        command.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
        if name == "kills":
            command.add_argument("--kills", type=int, default=100)
            command.add_argument("--lanes", type=int, default=2, help="runs at a time")
        else:
            length = command.add_mutually_exclusive_group()
            length.add_argument("--hours", type=float, default=1.0)
            length.add_argument("--minutes", type=float)
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        if options.command == "kills":
            tallies, seconds = kills.campaign(
                Path(folder), options.kills, options.seed, options.lanes
            )
            text = kills.as_markdown(tallies, seconds, options.seed)
            good = not any(tally.failures for tally in tallies)
        else:
            minutes = options.hours * 60 if options.minutes is None else options.minutes
            report = soak.soak(Path(folder), minutes * 60, options.seed)
            text, good = report.as_markdown(), report.good
    print(text)
    if options.output is not None:
        options.output.write_text(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
