"""Molecules: SMILES and those of RDKit."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from clipgnn.errors import InvalidGraphError, MissingDependencyError, shown
from clipgnn.graphs.columns import GraphColumns
from clipgnn.graphs.formats.atoms_and_bonds import CONFIGURATION, MoleculeColumns
from clipgnn.graphs.formats.configurations import assign_labels, restore_configurations
from clipgnn.graphs.formats.listing import listed
from clipgnn.graphs.formats.records import GraphRecord

MAX_NAMED = 10
"""Largest number of invalid molecules that a message names."""

DONORS = frozenset(["H", "C", "N", "O", "F", "Si", "P", "S", "Cl", "As", "Se", "Br", "Te", "I"])
"""Elements at which a dative bond begins. Graphs do not keep its direction."""

_MARKS = ("@", "/", "\\", "|")
"""Characters of configurations and of extensions of SMILES."""

_HYDROGEN = re.compile(r"\[\d*H")
"""Where atoms begin that can be hydrogen."""


def read(molecules: Iterable[Any]) -> GraphColumns:
    """Read atoms as nodes and bonds as edges.

    Hydrogen atoms of SMILES are numbers of the other atoms; those of RDKit molecules are nodes if
    they are atoms there (`RemoveHs` removes them).

    Atoms have the attributes "element", "charge", "hydrogens", "aromatic", "hybridization",
    "isotope" (0 for none) and "configuration", and bonds "bond", "conjugated", "ring" and
    "configuration".

    Raises:
        InvalidGraphError: if they are not molecules. The message names those that are not.
        MissingDependencyError: if RDKit is not installed.
    """
    chem = _chem()
    given = listed(molecules, (str, chem.Mol), "SMILES or RDKit molecules")
    columns, errors = read_valid(given)
    if errors:
        raise _invalid(errors, len(given)) from next(iter(errors.values()))
    return columns


def read_valid(molecules: Sequence[Any]) -> tuple[GraphColumns, dict[int, InvalidGraphError]]:
    """Read the molecules that are valid, and return why others are not, by their numbers.

    Raises:
        MissingDependencyError: if RDKit is not installed.
    """
    chem = _chem()
    from rdkit import rdBase

    builder = MoleculeColumns()
    errors: dict[int, InvalidGraphError] = {}
    with rdBase.BlockLogs():  # what is wrong is in our error
        for number, own in enumerate(molecules):
            molecule = None
            if isinstance(own, str) and _is_plain(own):
                molecule = chem.MolFromSmiles(own)
            if molecule is not None and molecule.GetNumAtoms():
                builder.add(molecule, labeled=False)
                continue
            try:
                builder.add(as_molecule(own), labeled=True)
            except InvalidGraphError as error:
                errors[number] = error
    return builder.columns(), errors


def _is_plain(smiles: str) -> bool:
    """Whether a molecule has neither configurations nor hydrogen atoms nor a name."""
    marked = any(own in smiles for own in _MARKS) or len(smiles.split()) != 1
    return not marked and not ("[" in smiles and _HYDROGEN.search(smiles))


def _invalid(errors: Mapping[int, InvalidGraphError], count: int) -> InvalidGraphError:
    """One error for all molecules that are not valid, by their numbers."""
    numbers = list(errors)
    message = f"Graph {numbers[0]}: {errors[numbers[0]]}"
    if len(numbers) > 1:
        named = ", ".join(map(str, numbers[:MAX_NAMED])) + (", …" if numbers[MAX_NAMED:] else "")
        message += f" {len(numbers)} of {count} molecules are not valid: graphs {named}."
    return InvalidGraphError(f"{message} Correct or remove invalid molecules.")


def as_molecule(given: Any) -> Any:
    """Convert a SMILES or an RDKit molecule to a molecule with labels; the given one is unchanged.

    Raises:
        InvalidGraphError: if it is not a valid molecule, or has no atoms.
        MissingDependencyError: if RDKit is not installed.
    """
    chem = _chem()
    from rdkit import rdBase

    with rdBase.BlockLogs():  # what is wrong is in our error
        parsed = chem.MolFromSmiles(given, sanitize=False) if isinstance(given, str) else given
        if parsed is None:
            raise InvalidGraphError(f"SMILES must have a valid syntax. Got {shown(given)}.")
        try:
            molecule = _sanitized(chem, given, parsed)
            assign_labels(molecule)
        except (ValueError, RuntimeError) as error:
            raise InvalidGraphError(
                f"Molecules must be valid. Got {shown(_name(chem, given))}: {error}"
            ) from error
        if molecule.GetNumAtoms() == 0:
            raise InvalidGraphError("Molecules must have at least one atom. Got one without.")
    return molecule


def _sanitized(chem: Any, given: Any, parsed: Any) -> Any:
    molecule = chem.Mol(parsed)
    chem.SanitizeMol(molecule)
    if isinstance(given, str):  # as MolFromSmiles does
        chem.AssignStereochemistry(molecule, cleanIt=True)
        molecule = chem.RemoveHs(molecule)
    return molecule


def _name(chem: Any, given: Any) -> str:
    return given if isinstance(given, str) else str(chem.MolToSmiles(given))


def write(graphs: Iterable[GraphRecord]) -> Iterator[Any]:
    """Write molecules of RDKit.

    Raises:
        InvalidGraphError: if graphs do not have the attributes of molecules, or are not valid ones.
        MissingDependencyError: if RDKit is not installed.
    """
    chem = _chem()
    for number, graph in enumerate(graphs):
        try:
            yield _molecule(chem, graph)
        except (KeyError, ValueError, RuntimeError) as error:
            raise InvalidGraphError(
                f"Graph {number} must be a valid molecule with the attributes of from_smiles. It "
                f"cannot be written: {error!r}."
            ) from error


def write_smiles(graphs: Iterable[GraphRecord]) -> Iterator[str]:
    """Write canonical SMILES; see `write`."""
    chem = _chem()
    return (chem.MolToSmiles(molecule) for molecule in write(graphs))


def _molecule(chem: Any, graph: GraphRecord) -> Any:
    molecule = chem.RWMol()
    for attributes in graph.nodes:
        molecule.AddAtom(_atom(chem, attributes))
    for source, target, _, attributes in graph.edges:
        ends = source, target
        kind = chem.BondType.names[attributes["bond"].upper()]
        if kind == chem.BondType.DATIVE and graph.nodes[source]["element"] not in DONORS:
            ends = target, source
        molecule.AddBond(*ends, kind)
        if kind == chem.BondType.AROMATIC:
            _mark_aromatic(molecule.GetBondBetweenAtoms(source, target))
    chem.SanitizeMol(molecule)
    restore_configurations(molecule, _configurations(molecule, graph))
    return molecule.GetMol()


def _atom(chem: Any, attributes: Mapping[str, Any]) -> Any:
    atom = chem.Atom(attributes["element"])
    atom.SetFormalCharge(attributes["charge"])
    atom.SetNumExplicitHs(attributes["hydrogens"])
    atom.SetNoImplicit(True)
    atom.SetIsotope(attributes["isotope"])
    return atom


def _mark_aromatic(bond: Any) -> None:
    for part in (bond, bond.GetBeginAtom(), bond.GetEndAtom()):
        part.SetIsAromatic(True)


def _configurations(molecule: Any, graph: GraphRecord) -> dict[Any, str]:
    """Labels of the atoms and bonds that have one."""
    atoms = zip(molecule.GetAtoms(), graph.nodes, strict=True)
    bonds = (
        (molecule.GetBondBetweenAtoms(source, target), own)
        for source, target, _, own in graph.edges
    )
    return {part: own[CONFIGURATION] for part, own in (*atoms, *bonds) if own.get(CONFIGURATION)}


def _chem() -> Any:
    try:
        from rdkit import Chem
    except ImportError as error:
        raise MissingDependencyError(
            "Molecules need the package RDKit. Install it: pip install 'clipgnn[molecules]'."
        ) from error
    return Chem
