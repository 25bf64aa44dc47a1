"""A command with placeholders: a list of arguments that never passes through a shell.

A placeholder stands for text inside its argument. So one argument stays one argument, whatever a
value contains, and filled-in text is not searched for placeholders again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rahbo.cli.parameters import BLOCK, SEED
from rahbo.errors import SettingsError
from rahbo.space import Categorical, Parameter

BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True)
class Placeholder:
    """Stands for the value of a parameter, or for the seed."""

    name: str


Piece = str | Placeholder


@dataclass(frozen=True)
class Template:
    """The arguments of a command, each split into text and placeholders.

    >>> Template.of(["train", "--lr={lr}", "{{x}}"]).filled({"lr": 0.1})
    ['train', '--lr=0.1', '{x}']
    """

    arguments: tuple[tuple[Piece, ...], ...]

    @classmethod
    def of(cls, command: Sequence[str]) -> Template:
        """Split the arguments of a command into pieces."""
        if not command or not command[0]:
            raise SettingsError(
                "There is no command to run. Write it after --, or as command = [...] in the file."
            )
        if any("\0" in argument for argument in command):
            raise SettingsError(
                f"An argument must not contain a zero byte, got {list(command)!r}. Remove it."
            )
        return cls(tuple(_pieces(argument) for argument in command))

    @property
    def names(self) -> set[str]:
        """Names of all placeholders."""
        return {p.name for pieces in self.arguments for p in pieces if isinstance(p, Placeholder)}

    def filled(self, values: Mapping[str, object]) -> list[str]:
        """Return the arguments with values in place of the placeholders."""
        return ["".join(_text(piece, values) for piece in pieces) for pieces in self.arguments]

    def check(self, space: Mapping[str, Parameter], blocks: bool = False) -> None:
        """Refuse a command that does not fit its parameters, or that lacks ``{block}``."""
        others = [SEED, BLOCK] if blocks else [SEED]
        unknown = sorted(self.names - {*space, *others})
        if unknown:
            raise SettingsError(
                f"The command has the placeholder {{{unknown[0]}}}, but the only ones are "
                f"{', '.join(f'{{{name}}}' for name in [*space, *others])}. Add the parameter with "
                "-p, or double the braces to pass them on as text."
            )
        if blocks and (BLOCK in space or BLOCK not in self.names):
            raise SettingsError(
                f"With --blocks, the command must contain {{{BLOCK}}}, which stands for the block "
                "of a run, and no parameter can have that name."
            )
        if blocks and SEED in self.names:
            raise SettingsError(
                f"With --blocks, a setting runs once in each block, and must give the same value "
                f"there each time. A seed of its own, {{{SEED}}}, would make it give another one. "
                f"Fix the seed in the program, or use the block as the seed, {{{BLOCK}}}."
            )
        unused = [name for name in space if name not in self.names]
        if unused:
            raise SettingsError(
                f"The command does not contain {{{unused[0]}}}, so the parameter would change "
                "nothing. Put the placeholder where its value belongs, or drop the parameter."
            )
        if any(isinstance(piece, Placeholder) for piece in self.arguments[0]):
            raise SettingsError(
                "The program to run must not contain a placeholder. Use placeholders in its "
                "arguments only."
            )
        for pieces in self.arguments:
            self._check_dashes(pieces, space)

    def _check_dashes(self, pieces: tuple[Piece, ...], space: Mapping[str, Parameter]) -> None:
        """Refuse choices that a program would read as options."""
        first = pieces[0] if pieces else ""
        parameter = space.get(first.name) if isinstance(first, Placeholder) else None
        if isinstance(first, Placeholder) and isinstance(parameter, Categorical):
            # If a choice is empty, the next piece begins the argument, so check that as well.
            dashed = [choice for choice in parameter.choices if str(choice).startswith("-")]
            if dashed:
                raise SettingsError(
                    f"The choice {dashed[0]!r} of {first.name} would begin an argument, so a "
                    f"program may take it for an option. Write --option={{{first.name}}}."
                )
            if "" in parameter.choices:
                self._check_dashes(pieces[1:], space)


def _pieces(argument: str) -> tuple[Piece, ...]:
    found: list[Piece] = []
    end = 0
    for match in BRACES.finditer(argument):
        found.append(argument[end : match.start()])
        end = match.end()
        if match[0] in ("{{", "}}"):
            found.append(match[0][0])
        elif match[1] is None:
            raise SettingsError(
                f"Braces must come in pairs, got {argument!r}. Double one to pass it on as text."
            )
        else:
            found.append(Placeholder(match[1]))
    found.append(argument[end:])
    return tuple(piece for piece in found if piece != "")


def _text(piece: Piece, values: Mapping[str, object]) -> str:
    if isinstance(piece, str):
        return piece
    value = values[piece.name]
    # All digits of a float are written, so that repeats of a point are exactly equal.
    return repr(value) if isinstance(value, float) else str(value)
