"""Classes that are found by their name, such as when a journal is read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rahbo.errors import SettingsError

_classes: dict[str, type[Registered]] = {}


class Registered:
    """A class whose subclasses are found by their name, if they stand at the top of a module.

    A class in a function is not found, because no other process could import it.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__qualname__ != cls.__name__:
            return
        known = _classes.get(cls.__name__, cls)
        # A notebook defines a class again, and a program may also import itself by its name.
        modules = {known.__module__, cls.__module__}
        if len(modules) > 1 and not ("__main__" in modules and module_outside(known)):
            raise SettingsError(
                f"{cls.__module__} defines a class {cls.__name__}, but {known.__module__} has one "
                "too, and a journal finds a class by its name. Choose another name."
            )
        _classes[cls.__name__] = cls

    def to_json(self) -> dict[str, Any] | None:
        """Return the keywords that make this object again: those of a dataclass are its fields.

        They may be numbers, texts, lists and objects of registered classes. None means that the
        object is code, which has to be passed again.
        """
        # A class that inherits its fields may have more to it.
        if "__dataclass_fields__" not in vars(type(self)):
            return None
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]


def registered(name: str) -> type[Registered] | None:
    """Return the class of a name, if it was defined."""
    return _classes.get(name)


def module_outside(kind: type) -> str | None:
    """Return the module of a class that is not part of this package."""
    return None if kind.__module__.startswith("rahbo.") else kind.__module__
