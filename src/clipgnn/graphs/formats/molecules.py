"""Molecules: SMILES and those of RDKit."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clipgnn.errors import InvalidGraphError, MissingDependencyError, shown
from clipgnn.graphs.columns import ColumnBuilder, GraphColumns
from clipgnn.graphs.formats.configurations import assign_labels, label, restore_configurations
from clipgnn.graphs.formats.listing import listed
from clipgnn.graphs.formats.records import GraphRecord

CONFIGURATION = "configuration"
"""Attribute of atoms and bonds: their label of Cahn, Ingold and Prelog, or None."""

MAX_NAMED = 10
"""Largest number of invalid molecules that a message names."""

DONORS = frozenset(["H", "C", "N", "O", "F", "Si", "P", "S", "Cl", "As", "Se", "Br", "Te", "I"])
"""Elements at which a dative bond begins. Graphs do not keep its direction."""


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
    builder = ColumnBuilder()
    errors: dict[int, InvalidGraphError] = {}
    given = listed(molecules, (str, chem.Mol), "SMILES or RDKit molecules")
    for number, own in enumerate(given):
        try:
            molecule = as_molecule(own)
        except InvalidGraphError as error:
            errors[number] = error
            continue
        builder.add_graph(
            map(_atom_attributes, molecule.GetAtoms()),
            (
                (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), _bond_attributes(bond))
                for bond in molecule.GetBonds()
            ),
            {},
            directed=False,
        )
    if errors:
        raise _invalid(errors, len(given)) from next(iter(errors.values()))
    return builder.columns()


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


def _atom_attributes(atom: Any) -> dict[str, Any]:
    return {
        "element": atom.GetSymbol(),
        "charge": atom.GetFormalCharge(),
        "hydrogens": atom.GetTotalNumHs(),
        "aromatic": atom.GetIsAromatic(),
        "hybridization": atom.GetHybridization().name.lower(),
        "isotope": atom.GetIsotope(),
        CONFIGURATION: label(atom),
    }


def _bond_attributes(bond: Any) -> dict[str, Any]:
    return {
        "bond": bond.GetBondType().name.lower(),
        "conjugated": bond.GetIsConjugated(),
        "ring": bond.IsInRing(),
        CONFIGURATION: label(bond),
    }


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
