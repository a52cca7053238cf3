"""Atoms and bonds in RDKit's binary form of molecules.

One call returns the atoms and bonds of a molecule, while calls for each of them would take as long
as parsing SMILES. Records of the binary form are compared only: what a record means is asked from
RDKit where it first occurs. Where they begin and end is not documented. `is_known` therefore
compares some molecules with RDKit's own methods, and molecules with other records are not read.
"""

from functools import cache
from typing import Any, NamedTuple

_HEADER = 20
"""Bytes before the numbers of atoms and bonds: a mark and the version."""

_BEGIN_ATOMS, _BEGIN_BONDS, _BEGIN_RINGS = b"\x80\x01", 0x0B, 0x42
_MOST_ATOMS = 200
"""Numbers of atoms are bytes in smaller molecules."""

_AROMATIC, _NO_IMPLICIT, _CONJUGATED, _NOT_SINGLE = 0x40, 0x20, 0x20, 0x08
_ATOM_FLAGS, _BOND_FLAGS = _AROMATIC | _NO_IMPLICIT, _AROMATIC | _CONJUGATED | _NOT_SINGLE
_EXTRA = bytes(own.bit_count() for own in range(256))
"""Number of bytes that follow the properties of an atom, each of one byte."""

_TYPE = bytes(1 if own & _NOT_SINGLE else 0 for own in range(256))
"""Number of bytes that follow the flags of a bond."""

_EXAMPLES = (
    "C",
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[N+](C)(C)CC([O-])=O",
    "c1ccc2c(c1)[nH]c1ccccc12",
    "C1CC2CCC1C2.[Na+].[Cl-]",
    "OS(=O)(=O)C#N",
    "[CH3]",
    "FP(F)(F)(F)F",
    "N=C=S",
    "C1CC1CC1CCCCC1",
    "[NH3]->[Pt+2]",
)


class Records(NamedTuple):
    """Records of a molecule.

    Attributes:
        atoms: a record for each atom; equal ones are equal atoms.
        bonds: a record for each bond, and whether it is in a ring.
        begins: first atom of each bond.
        ends: second atom of each bond.
    """

    atoms: list[bytes]
    bonds: list[tuple[bytes, bool]]
    begins: list[int]
    ends: list[int]


def records(molecule: Any) -> Records | None:
    """Return the records of a molecule; None if it has others than the common ones."""
    num_atoms, num_bonds = molecule.GetNumAtoms(), molecule.GetNumBonds()
    if num_atoms > _MOST_ATOMS:
        return None
    data: bytes = molecule.ToBinary(0)
    place = _HEADER + 8
    if data[place : place + 2] != _BEGIN_ATOMS:
        return None
    place += 2
    atoms = []
    for _ in range(num_atoms):
        end = place + 6 + _EXTRA[data[place + 2]]
        atoms.append(data[place:end])
        place = end
    if data[place] != _BEGIN_BONDS:
        return None
    place += 1
    kinds, begins, ends = [], [], []
    for _ in range(num_bonds):
        begins.append(data[place])
        ends.append(data[place + 1])
        end = place + 3 + _TYPE[data[place + 2]]
        kinds.append(data[place + 2 : end])
        place = end
    if data[place] != _BEGIN_RINGS:
        return None
    num_rings = int.from_bytes(data[place + 1 : place + 5], "little")
    if num_rings == 0:
        return Records(atoms, [(kind, False) for kind in kinds], begins, ends)
    in_ring: set[tuple[int, int]] = set()
    place += 5
    for _ in range(num_rings):
        ring = data[place + 1 : place + 1 + data[place]]
        following = ring[1:] + ring[:1]
        in_ring.update(zip(ring, following, strict=True))
        in_ring.update(zip(following, ring, strict=True))
        place += 1 + len(ring)
    rings = map(in_ring.__contains__, zip(begins, ends, strict=True))
    return Records(atoms, list(zip(kinds, rings, strict=True)), begins, ends)


def is_common_atom(record: bytes) -> bool:
    """Whether a record has the form that `records` assumes: a charge, hydrogens, no isotope."""
    return record[1] | _ATOM_FLAGS == _ATOM_FLAGS and record[3:6] == b"\0\0\0"


def is_common_bond(record: bytes) -> bool:
    """Whether a record has the form that `records` assumes."""
    return record[0] | _BOND_FLAGS == _BOND_FLAGS


@cache
def is_known() -> bool:
    """Whether the installed version of RDKit has the binary form that `records` reads."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        molecules = [Chem.MolFromSmiles(own) for own in _EXAMPLES]
    try:
        return all(_agrees(own) for own in molecules)
    except (IndexError, ValueError):
        return False


def _agrees(molecule: Any) -> bool:
    found = records(molecule)
    if found is None:
        return False
    bonds = list(molecule.GetBonds())
    numbers = [own.GetAtomicNum() for own in molecule.GetAtoms()]
    aromatic = [own.GetIsAromatic() for own in molecule.GetAtoms()]
    return (
        all(map(is_common_atom, found.atoms))
        and all(is_common_bond(own) for own, _ in found.bonds)
        and [own[0] for own in found.atoms] == numbers
        and [bool(own[1] & _AROMATIC) for own in found.atoms] == aromatic
        and found.begins == [own.GetBeginAtomIdx() for own in bonds]
        and found.ends == [own.GetEndAtomIdx() for own in bonds]
        and [ring for _, ring in found.bonds] == [own.IsInRing() for own in bonds]
        and [bool(own[0] & _CONJUGATED) for own, _ in found.bonds]
        == [own.GetIsConjugated() for own in bonds]
    )
