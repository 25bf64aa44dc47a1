"""What a page of the documentation shows of what its code prints.

The block ``text`` after a block ``python`` is what that one prints, and so is the one after a block
``sh`` that holds a single line ``rahbo ... FILE.csv``. A line ``...`` in it stands
for any number of lines. If the paragraph before the block says "for example", the numbers depend on
chance, and only the words count.
"""

import math
import re
from dataclasses import dataclass

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|\binf\b)")
LEFT_OUT = "..."

# Another processor rounds differently, and what a run tries later depends on that a little.
RELATIVE, LAST_DIGITS = 0.03, 3.0
# A gain is estimated from random draws at settings that a search finds.
DRAWN, RELATIVE_IF_DRAWN = "gain", 0.2


@dataclass(frozen=True)
class Block:
    """A block of a page.

    Attributes:
        kind: What stands behind the fence, such as ``python``.
        source: Its lines.
        line: The number of lines of the page before it.
        start: Where its source starts in the page.
        end: Where the block ends, with its closing fence.
        example: Whether the paragraph before it says "for example".
    """

    kind: str
    source: str
    line: int
    start: int
    end: int
    example: bool


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        line = text.count("\n", 0, match.start(2))
        found.append(
            Block(*match.groups(), line, match.start(2), match.end(), "for example" in before)
        )
    return found


Pairs = list[tuple[Block, Block | None]]


def programs(text: str, kind: str = "python") -> Pairs:
    """Each Python block, or block of another kind, and the block that shows what it prints."""
    found = blocks(text)
    return [
        (block, after if after is not None and after.kind == "text" else None)
        for block, after in zip(found, [*found[1:], None], strict=False)
        if block.kind == kind
    ]


def commands(text: str) -> Pairs:
    """Each command on a table that the page shows, and the block that shows what it prints."""
    return [
        (block, shown)
        for block, shown in programs(text, "sh")
        if shown is not None and re.fullmatch(r"rahbo [^\n]*\.csv\b[^\n]*\n", block.source)
    ]


def table_before(text: str, block: Block) -> str:
    """The last table that a page shows before a block."""
    return [b.source for b in blocks(text[: block.start]) if b.kind == "csv"][-1]


def wording(line: str) -> str:
    """A line of output without its numbers."""
    return " ".join(re.sub(r"\btime\b", "times", NUMBER.sub("#", line)).split())


def close(shown: str, printed: str, relative: float = RELATIVE) -> bool:
    """Whether two numbers agree as far as the machine's arithmetic lets them."""
    a, b = float(shown), float(printed)
    if not math.isfinite(a) or not math.isfinite(b):
        return a == b
    mantissa, _, exponent = shown.partition("e")
    digit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(a - b) <= max(relative * max(abs(a), abs(b)), LAST_DIGITS * digit)


def agree(shown: str, printed: str, *, example: bool = False) -> bool:
    """Whether a line that is shown is the one that was printed."""
    if wording(shown) != wording(printed):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    relative = RELATIVE_IF_DRAWN if DRAWN in shown else RELATIVE
    return example or all(close(*pair, relative) for pair in pairs)


def _parts(lines: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if line == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _places(parts: list[list[str]], printed: list[str]) -> list[int] | None:
    """Where each part of a shown output starts in the printed one, by its words."""
    places, least = [], 0
    words = [wording(line) for line in printed]
    for number, part in enumerate(parts):
        wanted, last = [wording(line) for line in part], len(printed) - len(part)
        if number == 0:
            tried = range(1)
        elif number == len(parts) - 1 and part:
            tried = range(last, last + 1)
        else:
            tried = range(least, last + 1)
        place = next((at for at in tried if words[at : at + len(part)] == wanted), None)
        if place is None or place < least:
            return None
        places.append(place)
        least = place + len(part)
    return places if len(parts) > 1 or least == len(printed) else None


def differences(shown: list[str], printed: list[str], *, example: bool = False) -> list[str]:
    """What is wrong with the output that a page shows; nothing if it is right."""
    parts = _parts(shown)
    places = _places(parts, printed)
    if places is None:
        return ["shown:", *shown, "printed:", *printed]
    pairs = [
        (line, printed[place + i])
        for place, part in zip(places, parts, strict=True)
        for i, line in enumerate(part)
    ]
    return [
        f"shown: {line}\nprinted: {real}"
        for line, real in pairs
        if not agree(line, real, example=example)
    ]


def renewed(shown: list[str], printed: list[str]) -> list[str]:
    """The output as printed now, with as much of it left out as before if that can be told."""
    parts = _parts(shown)
    places = _places(parts, printed)
    if places is None:
        return printed
    lines: list[str] = []
    for number, (place, part) in enumerate(zip(places, parts, strict=True)):
        lines += [LEFT_OUT] * (number > 0) + printed[place : place + len(part)]
    return lines


def with_outputs(text: str, printed: list[list[str]], pairs: Pairs | None = None) -> str:
    """A page that shows what each of its Python blocks, or of some other blocks, printed."""
    pairs = programs(text) if pairs is None else pairs
    for (block, shown), lines in reversed(list(zip(pairs, printed, strict=True))):
        if shown is not None:
            old = shown.source.splitlines()
            if differences(old, lines, example=shown.example):
                new = "".join(f"{line}\n" for line in renewed(old, lines))
                text = text[: shown.start] + new + text[shown.start + len(shown.source) :]
        elif lines:
            new = "\n\nIt prints:\n\n```text\n" + "".join(f"{line}\n" for line in lines) + "```"
            text = text[: block.end] + new + text[block.end :]
    return text
