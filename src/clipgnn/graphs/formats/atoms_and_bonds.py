"""Columns of the atoms and bonds of molecules.

Calls of RDKit for each atom and each bond would take longer than parsing. Atoms and bonds are
therefore compared in RDKit's binary form, if it is known, and are otherwise asked for what they
are by calls of `map`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from clipgnn.graphs.coded import CodedColumn
from clipgnn.graphs.columns import GraphColumns
from clipgnn.graphs.formats.binary_molecules import (
    Records,
    is_common_atom,
    is_common_bond,
    is_known,
    records,
)
from clipgnn.graphs.formats.configurations import label

CONFIGURATION = "configuration"
"""Attribute of atoms and bonds: their label of Cahn, Ingold and Prelog, or None."""


class _Numbers(dict[tuple[Any, ...], int]):
    """Numbers of keys, in the order in which they were first looked up."""

    def __missing__(self, key: tuple[Any, ...]) -> int:
        number = self[key] = len(self)
        return number


class MoleculeColumns:
    """Columns that are filled molecule by molecule."""

    def __init__(self) -> None:
        from rdkit import Chem

        self._of_atoms = (
            Chem.Atom.GetFormalCharge,
            Chem.Atom.GetTotalNumHs,
            Chem.Atom.GetIsAromatic,
            Chem.Atom.GetHybridization,
            Chem.Atom.GetIsotope,
        )
        self._number, self._symbol = Chem.Atom.GetAtomicNum, Chem.Atom.GetSymbol
        self._of_bonds = (Chem.Bond.GetBondType, Chem.Bond.GetIsConjugated, Chem.Bond.IsInRing)
        self._ends = Chem.Bond.GetBeginAtomIdx, Chem.Bond.GetEndAtomIdx
        self._symbol_of = Chem.GetPeriodicTable().GetElementSymbol
        self._num_atoms: list[int] = []
        self._num_bonds: list[int] = []
        self._begins: list[int] = []
        self._ends_of_bonds: list[int] = []
        self._atoms, self._bonds = _Numbers(), _Numbers()
        self._atom_codes: list[int] = []
        self._bond_codes: list[int] = []
        self._atom_records: dict[bytes, int] = {}
        self._bond_records: dict[tuple[bytes, bool], int] = {}
        self._reads_records = is_known()

    def add(self, molecule: Any, *, labeled: bool) -> None:
        """Add a molecule.

        Args:
            molecule: a molecule of RDKit.
            labeled: whether atoms or bonds can have labels of their configuration.
        """
        if self._reads_records and not labeled and self._add_records(molecule):
            return
        atoms = list(map(molecule.GetAtomWithIdx, range(molecule.GetNumAtoms())))
        elements: list[Any] = list(map(self._number, atoms))
        if 0 in elements:  # symbols of atoms that are no elements can have any text
            pairs = zip(elements, atoms, strict=True)
            elements = [number or self._symbol(atom) for number, atom in pairs]
        keys = [elements, *(map(call, atoms) for call in self._of_atoms)]
        self._atom_codes += _codes(self._atoms, keys, atoms, labeled)
        bonds = list(map(molecule.GetBondWithIdx, range(molecule.GetNumBonds())))
        keys = [map(call, bonds) for call in self._of_bonds]
        self._bond_codes += _codes(self._bonds, keys, bonds, labeled)
        begin, end = self._ends
        self._begins += map(begin, bonds)
        self._ends_of_bonds += map(end, bonds)
        self._num_atoms.append(len(atoms))
        self._num_bonds.append(len(bonds))

    def _add_records(self, molecule: Any) -> bool:
        """Add a molecule without labels by its records; return whether it has common ones."""
        found = records(molecule)
        if found is None:
            return False
        atoms, bonds = self._atom_records, self._bond_records
        try:
            atom_codes = [atoms[own] for own in found.atoms]
            bond_codes = [bonds[own] for own in found.bonds]
        except KeyError:
            if not self._learn(molecule, found):
                return False
            atom_codes = [atoms[own] for own in found.atoms]
            bond_codes = [bonds[own] for own in found.bonds]
        self._atom_codes += atom_codes
        self._bond_codes += bond_codes
        self._begins += found.begins
        self._ends_of_bonds += found.ends
        self._num_atoms.append(len(atom_codes))
        self._num_bonds.append(len(bond_codes))
        return True

    def _learn(self, molecule: Any, found: Records) -> bool:
        """Ask RDKit what new records mean; return whether all are common ones."""
        common = all(map(is_common_atom, found.atoms))
        if not common or not all(is_common_bond(own) for own, _ in found.bonds):
            return False
        for place, own in enumerate(found.atoms):
            if own not in self._atom_records:
                atom = molecule.GetAtomWithIdx(place)
                number = self._number(atom) or self._symbol(atom)
                key = (number, *(call(atom) for call in self._of_atoms), None)
                self._atom_records[own] = self._atoms[key]
        for place, pair in enumerate(found.bonds):
            if pair not in self._bond_records:
                bond = molecule.GetBondWithIdx(place)
                key = (*(call(bond) for call in self._of_bonds), None)
                self._bond_records[pair] = self._bonds[key]
        return True

    def columns(self) -> GraphColumns:
        """Return the columns of all molecules; bonds are edges in both directions."""
        begins, ends = np.array([self._begins, self._ends_of_bonds], dtype=np.int64)
        edges = np.array([[begins, ends], [ends, begins]])  # [2, directions, bonds]
        return GraphColumns(
            num_nodes=np.array(self._num_atoms, dtype=np.int64),
            num_edges=2 * np.array(self._num_bonds, dtype=np.int64),
            edge_index=edges.transpose(0, 2, 1).reshape(2, -1),
            nodes=_columns(map(self._atom, self._atoms), self._atom_codes),
            edges=_columns(map(_bond, self._bonds), self._bond_codes, repeats=2),
            graphs={},
        )

    def _atom(self, key: tuple[Any, ...]) -> dict[str, Any]:
        element, charge, hydrogens, aromatic, hybridization, isotope, configuration = key
        return {
            "element": element if isinstance(element, str) else self._symbol_of(element),
            "charge": charge,
            "hydrogens": hydrogens,
            "aromatic": aromatic,
            "hybridization": hybridization.name.lower(),
            "isotope": isotope,
            CONFIGURATION: configuration,
        }


def _bond(key: tuple[Any, ...]) -> dict[str, Any]:
    kind, conjugated, ring, configuration = key
    return {
        "bond": kind.name.lower(),
        "conjugated": conjugated,
        "ring": ring,
        CONFIGURATION: configuration,
    }


def _codes(
    numbers: _Numbers, keys: Sequence[Iterable[Any]], parts: Sequence[Any], labeled: bool
) -> Iterable[int]:
    labels = map(label, parts) if labeled else [None] * len(parts)
    find: Callable[[tuple[Any, ...]], int] = numbers.__getitem__
    return map(find, zip(*keys, labels, strict=True))


def _columns(
    rows: Iterable[Mapping[str, Any]], codes: Sequence[int], repeats: int = 1
) -> dict[str, CodedColumn]:
    """Columns of rows that are numbers of dictionaries, sorted by name."""
    known = list(rows)
    given = np.array(codes, dtype=np.int64).repeat(repeats)
    result = {}
    for name in sorted(known[0]) if known else []:
        own = CodedColumn.of([row[name] for row in known])
        result[name] = CodedColumn(own.values, own.codes[given])
    return result
