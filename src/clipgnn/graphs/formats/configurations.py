"""Configurations of stereocenters and double bonds of RDKit molecules.

They are labels of Cahn, Ingold and Prelog (R, S, r, s, E, Z), which do not depend on the order of
the atoms, as tags of RDKit and SMILES do.
"""

import random
from collections.abc import Mapping
from typing import Any

_STARTS = 64  # attempts to find tags for labels that depend on each other
_MAX_ITERATIONS = 1_250_000  # RDKit's own suggestion for about a second
_LABEL = "_CIPCode"  # the property in which RDKit stores a label


def assign_labels(molecule: Any) -> None:
    """Compute the labels of all atoms and bonds."""
    from rdkit.Chem import rdCIPLabeler

    for part in (*molecule.GetAtoms(), *molecule.GetBonds()):
        part.ClearProp(_LABEL)
    rdCIPLabeler.AssignCIPLabels(molecule, maxRecursiveIterations=_MAX_ITERATIONS)


def label(part: Any) -> str | None:
    """Return the label of an atom or a bond; None without one."""
    return part.GetProp(_LABEL) if part.HasProp(_LABEL) else None


def restore_configurations(molecule: Any, wanted: Mapping[Any, str]) -> None:
    """Choose the tags of a molecule without tags so that atoms and bonds have the given labels.

    A label can depend on those of other centers. Tags are therefore inverted one by one, from
    several random starts.

    Raises:
        ValueError: if no such tags were found.
    """
    from rdkit import Chem

    for part in wanted:
        if isinstance(part, Chem.Atom):
            part.SetChiralTag(Chem.ChiralType.CHI_TETRAHEDRAL_CW)
        else:
            part.SetStereoAtoms(*_stereo_atoms(part))
            part.SetStereo(Chem.BondStereo.STEREOCIS)
    choose = random.Random(0)
    for _ in range(_STARTS):
        if _inverted_to(molecule, wanted):
            Chem.SetDoubleBondNeighborDirections(molecule)
            Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
            return
        for part in wanted:
            if choose.random() < 0.5:
                _invert(part)
    raise ValueError("no tags were found that have the labels of its configurations")


def _inverted_to(molecule: Any, wanted: Mapping[Any, str]) -> bool:
    """Invert tags one by one where the label differs; return whether all labels agree."""
    for part in wanted:
        assign_labels(molecule)
        if label(part) != wanted[part]:
            _invert(part)
    assign_labels(molecule)
    return all(label(part) == own for part, own in wanted.items())


def _stereo_atoms(bond: Any) -> tuple[int, int]:
    """A neighbor of each end of a double bond, to which "cis" and "trans" refer."""
    ends = bond.GetBeginAtom(), bond.GetEndAtom()
    inner = {end.GetIdx() for end in ends}
    first, second = (
        next(own.GetIdx() for own in end.GetNeighbors() if own.GetIdx() not in inner)
        for end in ends
    )
    return first, second


def _invert(part: Any) -> None:
    from rdkit import Chem

    if isinstance(part, Chem.Atom):
        part.InvertChirality()
        return
    kinds = Chem.BondStereo
    cis = part.GetStereo() == kinds.STEREOCIS
    part.SetStereo(kinds.STEREOTRANS if cis else kinds.STEREOCIS)
