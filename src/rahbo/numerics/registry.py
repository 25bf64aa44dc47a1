"""Classes that are found by their name, such as when a journal is read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

# By name, and then by module. The classes of this package have no module there, so that no other
# class can take their place.
_classes: dict[str, dict[str | None, type[Registered]]] = {}


class Registered:
    """A class whose subclasses are found by their name, if they stand at the top of a module.

    A class in a function is not found, because no other process could import it.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__qualname__ == cls.__name__:
            # A notebook defines a class again: the last one counts.
            _classes.setdefault(cls.__name__, {})[module_outside(cls)] = cls

    def to_json(self) -> dict[str, Any] | None:
        """Return the keywords that make this object again: those of a dataclass are its fields.

        They may be numbers, texts, lists and objects of registered classes. None means that the
        object is code, which has to be passed again.
        """
        # A class that inherits its fields may have more to it.
        if "__dataclass_fields__" not in vars(type(self)):
            return None
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]


def registered(name: str, module: str | None = None) -> type[Registered] | None:
    """Return the class of a name that a module, or this package, has defined; None if none has.

    A program is the module ``__main__`` in its own process and has a name in others.
    """
    known = _classes.get(name, {})
    if module is None or module in known:
        return known.get(module)
    if module != "__main__":
        return known.get("__main__")
    outside = [kind for at, kind in known.items() if at is not None]
    return outside[0] if len(outside) == 1 else None


def module_outside(kind: type) -> str | None:
    """Return the module of a class that is not part of this package."""
    return None if kind.__module__.startswith("rahbo.") else kind.__module__
