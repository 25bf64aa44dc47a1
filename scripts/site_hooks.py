"""What the site does with pages that are written to be read on GitHub as well."""

import re
from typing import Any

# A page in a folder of docs/ leaves it by ../../
OUTSIDE = re.compile(
    r"(?<!!)\[([^\]]*)\]\((?:\.\./)+((?:README|CONTRIBUTING)\.md|examples/[^)]*)\)"
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Name files that are in the repository and not on the site, instead of linking to them."""

    def named(match: re.Match[str]) -> str:
        text, path = match.groups()
        return f"`{path}`" if path.endswith(text) else f"{text} (`{path}`)"

    return OUTSIDE.sub(named, markdown)
