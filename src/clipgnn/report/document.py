"""One HTML document: head, style, sections with links, and at most one script."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files

from clipgnn.report.page_parts import text

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; {scripts}base-uri 'none'; form-action 'none'"
)
"""Content security policy: nothing is loaded; figures have styles of their own."""


def document(
    title: str,
    sections: Mapping[str, tuple[str, str]],
    *,
    introduction: str = "",
    styles: Sequence[str] = ("page.css",),
    script: str | None = None,
) -> str:
    """Return an HTML document that loads nothing.

    Args:
        title: title of the page.
        sections: title and content (HTML) of each section by its identifier.
        introduction: HTML below the title.
        styles: names of style sheets of this package.
        script: name of the only script of this package that the page may execute; none by default.
    """
    style = "".join(_resource(name) for name in styles)
    code = "" if script is None else _resource(script)
    policy = _POLICY.format(scripts=f"script-src '{_hash(code)}'; " if code else "")
    links = "".join(f'<li><a href="#{key}">{own[0]}</a></li>' for key, own in sections.items())
    body = "".join(
        f'<section id="{key}">\n<h2>{own}</h2>\n{content}</section>\n'
        for key, (own, content) in sections.items()
    )
    executed = f"<script>{code}</script>\n" if code else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{text(title)}</h1>\n{introduction}"
        f'</header>\n<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        f"<main>\n{body}</main>\n{executed}</body>\n</html>\n"
    )


def _resource(name: str) -> str:
    return files("clipgnn.report").joinpath(name).read_text(encoding="utf-8")


def _hash(code: str) -> str:
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    return f"sha256-{digest}"
