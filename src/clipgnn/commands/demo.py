"""`clipgnn demo`."""

import time
from pathlib import Path
from typing import Annotated

import typer

from clipgnn.commands.terminal import terminal
from clipgnn.errors import one_line
from clipgnn.progress import progress_bars
from clipgnn.writing import check_writable


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File of the figure (PNG, PDF or SVG).")
    ] = Path("clipgnn-demo.png"),
    epochs: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Epochs of each network.")
    ] = 150,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of data, weights and colorings.")
    ] = 0,
) -> None:
    """Compare two graphs that only CLIP distinguishes, then train on circular skip links.

    Example: clipgnn demo -o demo.png
    """
    import torch  # slow to import; --help does not need it

    from clipgnn import demo as show

    torch.set_num_threads(1)  # such small layers are not faster with more threads
    _check_figure_path(output)
    console = terminal()
    pair = show.compare_pair(seed)
    console.print(f"1. {pair.names[0].capitalize()} and {pair.names[1]}", style="bold")
    console.print("   Same size, every node has two neighbors. Difference between embeddings by")
    console.print(f"   0-CLIP, which is message passing:        {pair.without_colors:.6f}")
    console.print(f"   ∞-CLIP, over all 720 colorings:          {pair.with_colors:.6f}")
    console.print("2. Circular skip links", style="bold")
    console.print(
        "   Ten classes of 4-regular graphs with 41 nodes, one fold of ten, chance is 10 %."
    )
    console.print(
        f"   Adam at {show.LEARNING_RATE:g}, ten times the paper's rate, to take about a minute."
    )
    start = time.perf_counter()
    curves = []
    with progress_bars("epochs", console, description="   {task.description:>7}") as bars:
        for num_colorings in (0, 16):
            name = f"{num_colorings}-CLIP"
            learning = show.learn_circular_skip_links(num_colorings, epochs=epochs, seed=seed)
            tracked = bars.track(learning, total=epochs, description=name)
            curves.append(show.AccuracyCurve(name, list(tracked)))
    for curve in curves:
        console.print(f"   {curve.name:>7}: {100 * curve.final:5.1f} % of the test graphs")
    show.draw(pair, curves, output)
    console.print(f"Took {time.perf_counter() - start:.0f} s. Figure: {one_line(str(output))}")
    console.print("Coloring by coloring: clipgnn compare hexagon two-triangles -o page.html")
    console.print("(its random networks are larger, so that its differences are other numbers)")


def _check_figure_path(path: Path) -> None:
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise typer.BadParameter(f"must end in .png, .pdf or .svg. Got {path}.")
    check_writable(path)
