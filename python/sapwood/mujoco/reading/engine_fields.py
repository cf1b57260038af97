"""The table of the fields of MuJoCo's structs that sapwood reads, as the C core has it.

A field is named once, in ``csrc/include/sapwood/mujoco_fields.h``, which says what the columns
mean. Lists of fields are selections of this table.
"""

from __future__ import annotations

from typing import NamedTuple

from sapwood import _core

_TYPES = {
    "SIZE": "mjtSize", "WORD": "size_t", "BOOL": "mjtBool", "INT": "int", "NUM": "mjtNum",
    "INT_ROW": "int", "NUM_ROW": "mjtNum", "INTS": "int *", "BOOLS": "mjtBool *",
    "FLOATS": "float *", "NUMS": "mjtNum *", "CONTACTS": "mjContact *",
}  # fmt: skip


class EngineField(NamedTuple):
    """One row of the table.

    Attributes
    ----------
    structure : str
        MuJoCo's struct: mjModel, mjOption, mjData, mjContact or mjWarningStat.
    owner : str
        Struct from which C counts the offset: model, data or contact.
    name : str
        Name of the field; of mjWarningStat the name in the C core.
    type, shape, versions, readers, change, again : str
        Columns of the header; for mjWarningStat `change` is the name of the warning.
    """

    structure: str
    owner: str
    name: str
    type: str
    shape: str
    versions: str
    readers: str
    change: str
    again: str

    @property
    def key(self) -> str:
        """The name of its offset, for example ``model.nv``."""
        return f"{self.owner}.{self.name}"

    @property
    def declared(self) -> str:
        """Its type as MuJoCo declares it, for example ``mjtNum *`` or ``mjtNum [3]``."""
        length = f" [{self.shape.strip('()')}]" if self.type.endswith("_ROW") else ""
        return _TYPES[self.type] + length

    @property
    def is_array(self) -> bool:
        """Whether the struct has a pointer to it."""
        return _TYPES[self.type].endswith("*")


# values of `change` with which a field is read again
READ_AGAIN = ("READ", "READ_OR_FIXED", "CHECKED", "CHECKED_OR_FIXED")

FIELDS = tuple(EngineField(*row) for row in _core.MUJOCO_FIELDS)


def fields_of(structure: str, *changes: str) -> tuple[str, ...]:
    """Names of the fields of a struct by the consequence of their change, in the table's order.

    Parameters
    ----------
    structure : str
        The name in :class:`EngineField`.
    *changes : str
        Values of `change`.

    Returns
    -------
    tuple of str
        Names of arrays of mjModel and mjData, of all fields of other structs.
    """
    arrays_alone = structure in ("mjModel", "mjData")
    return tuple(
        field.name
        for field in FIELDS
        if field.structure == structure
        and field.change in changes
        and (field.is_array or not arrays_alone)
    )


def fields_before(part: str) -> tuple[str, ...]:
    """Names of the arrays and options that a part of a stepper follows from.

    Parameters
    ----------
    part : str
        Value of `again`.

    Returns
    -------
    tuple of str
        Names; of options as ``opt.gravity``.
    """
    return tuple(
        f"opt.{field.name}" if field.structure == "mjOption" else field.name
        for field in FIELDS
        if field.again == part and field.change in READ_AGAIN
    )
