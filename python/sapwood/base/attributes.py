"""Attributes of an object that keep the rules of its constructor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_Value = TypeVar("_Value")


class Checked(Generic[_Value]):
    """An attribute that checks each value it is given, in the constructor and later.

    The value stands in the `__dict__` of the object, so that copies and pickles have it.

    Parameters
    ----------
    check : callable
        Returns the value to keep, from the one given and the name of the attribute, or raises.
    once : bool, optional
        Whether only the constructor may set it, since other parts of the object follow from it.
    """

    def __init__(self, check: Callable[[Any, str], _Value], once: bool = False) -> None:
        self._check, self._once, self._name = check, once, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Checked[_Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...

    def __get__(self, instance: object | None, owner: type) -> Checked[_Value] | _Value:
        if instance is None:
            return self
        try:
            value: _Value = vars(instance)[self._name]
        except KeyError:
            raise AttributeError(f"{type(instance).__name__} has no {self._name} yet") from None
        return value

    def __set__(self, instance: object, value: Any) -> None:
        if self._once and self._name in vars(instance):
            kind = type(instance).__name__
            raise AttributeError(f"{self._name}: a {kind} is made with it; make a new one")
        vars(instance)[self._name] = self._check(value, self._name)
