"""Equations of the site as MathML, which browsers show without scripts and without a network."""

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer, and choose it."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write an equation inside a line."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write an equation as a block, which scrolls if it is too wide."""
    latex = " ".join(node.astext().split())
    label = escape(latex, quote=True)
    translator.body.append(
        f'<div class="math" role="math" aria-label="{label}" tabindex="0" '
        f'style="overflow: auto hidden; padding: 0.3em 0">{convert(latex, display="block")}</div>\n'
    )
    raise nodes.SkipNode
