"""SMILES and RDKit molecules: what is read, round trips, errors."""

from importlib.metadata import version
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipgnn import CLIPClassifier, PackedGraphs
from clipgnn.errors import InvalidGraphError, MissingDependencyError
from clipgnn.graphs.formats import binary_molecules

rdkit_needed = pytest.mark.needs("rdkit")

FRAGMENTS = [
    "C",
    "C(=O)",
    "N",
    "O",
    "C(F)",
    "[C@H](O)",
    "[C@@](C)(Cl)",
    "/C=C/C",
    "/C=C\\C",
    "c1ccc(cc1)",
    "C1CC[C@H](CC1)",
    "[13CH2]",
    "S(=O)(=O)",
    "[N+](C)(C)",
]

DIFFICULT = [
    "C[C@H]1CC[C@@H](C)CC1",
    "O[C@H]1[C@H](O)[C@@H](O)[C@H](O)[C@H](O)[C@H]1O",
    "C[C@H](O)[C@H](F)[C@@H](C)O",
    "C/C=C\\[C@@H](O)/C=C/C",
    "C1CC/C=C/CCC1",
    "CC(=O)O[C@H]1CC[C@@]2(C)C(=CC[C@@H]3[C@@H]2CC[C@]2(C)[C@@H]([C@H](C)CCCC(C)C)CC[C@@H]32)C1",
    "[NH3]->[Pt+2]",
    "[Pt+2]<-[NH3]",
    "[O-][n+]1ccccc1",
    "c1cc[nH]c1",
    "[Na+].[Cl-]",
    "[CH3]",
    "[H][H]",
    "*C",
]


def canonical(smiles: str) -> str:
    from rdkit import Chem

    return str(Chem.CanonSmiles(smiles))


def reordered(smiles: str, seed: int) -> str:
    """The same molecule with its atoms in another order."""
    from rdkit import Chem

    [other] = Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(smiles), 1, randomSeed=seed)
    return str(other)


@st.composite
def molecules(draw: st.DrawFn) -> str:
    """SMILES of one or two chains of fragments."""
    chains = draw(st.lists(st.lists(st.sampled_from(FRAGMENTS), min_size=1), min_size=1))
    return ".".join("C" + "".join(chain[:5]) + "C" for chain in chains[:2])


@rdkit_needed
@given(st.lists(molecules(), min_size=1, max_size=4))
def test_a_round_trip_keeps_the_molecules(smiles: list[str]) -> None:
    assert PackedGraphs.from_smiles(smiles).to_smiles() == [canonical(own) for own in smiles]


@rdkit_needed
@pytest.mark.parametrize("smiles", DIFFICULT)
def test_a_round_trip_keeps_a_difficult_molecule(smiles: str) -> None:
    assert PackedGraphs.from_smiles([smiles]).to_smiles() == [canonical(smiles)]


@rdkit_needed
@given(molecules(), st.integers(1, 1000))
def test_attributes_do_not_depend_on_the_order_of_atoms(smiles: str, seed: int) -> None:
    def rows(graph: Any) -> tuple[list[Any], list[Any]]:
        nodes = [sorted(own.items(), key=repr) for _, own in graph.nodes(data=True)]
        edges = [sorted(own.items(), key=repr) for *_, own in graph.edges(data=True)]
        return sorted(nodes, key=repr), sorted(edges, key=repr)

    first, second = PackedGraphs.from_smiles([smiles, reordered(smiles, seed)]).to_networkx()
    assert rows(first) == rows(second)


@rdkit_needed
@given(st.lists(molecules() | st.sampled_from(DIFFICULT), min_size=1, max_size=6))
def test_both_ways_to_read_atoms_and_bonds_agree(smiles: list[str]) -> None:
    from clipgnn.graphs.formats import atoms_and_bonds

    first = PackedGraphs.from_smiles(smiles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atoms_and_bonds, "is_known", lambda: False)
        second = PackedGraphs.from_smiles(smiles)
    assert first.fingerprint == second.fingerprint
    assert first.encoding == second.encoding


@rdkit_needed
def test_the_binary_form_of_the_pinned_version_is_known() -> None:
    """Molecules of other versions are read too, at two thirds of the speed."""
    if int(version("rdkit").partition(".")[0]) >= 2026:
        assert binary_molecules.is_known()


@rdkit_needed
def test_plain_smiles_are_read_as_others() -> None:
    """The short way of plain SMILES gives the molecules of the long one."""
    from rdkit import Chem

    from clipgnn.graphs.formats.molecules import as_molecule

    plain = ["CCO", "C[N+](=O)[O-]", "[13CH4]", "c1ccc2[nH]ccc2c1", "[NH3]->[Pt+2]", "CN(=O)=O"]
    for own in plain:
        assert Chem.MolFromSmiles(own).ToBinary() == as_molecule(own).ToBinary()


@rdkit_needed
@pytest.mark.parametrize("name", ["_HEADER", "_BEGIN_BONDS", "_EXTRA", "_TYPE"])
def test_another_binary_form_is_recognized(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = getattr(binary_molecules, name)
    other = own + 1 if isinstance(own, int) else bytes(value + 1 for value in own)
    monkeypatch.setattr(binary_molecules, name, other)
    assert not binary_molecules.is_known.__wrapped__()


@rdkit_needed
def test_molecules_of_rdkit_are_read_and_not_changed() -> None:
    from rdkit import Chem

    smiles = ["C[C@H](N)C(=O)O", "c1ccccc1O"]
    given_molecules = [Chem.MolFromSmiles(own) for own in smiles]
    Chem.Kekulize(given_molecules[1], clearAromaticFlags=True)
    before = [own.ToBinary() for own in given_molecules]
    graphs = PackedGraphs.from_smiles(given_molecules)
    assert [own.ToBinary() for own in given_molecules] == before
    assert graphs.fingerprint == PackedGraphs.from_smiles(smiles).fingerprint
    assert [Chem.MolToSmiles(own) for own in graphs.to_rdkit()] == [canonical(s) for s in smiles]


@rdkit_needed
def test_attributes_of_atoms_and_bonds() -> None:
    [graph] = PackedGraphs.from_smiles(["C[C@H](N)C(=O)[O-]"]).to_networkx()
    assert graph.nodes[1] == {
        "element": "C",
        "charge": 0,
        "hydrogens": 1,
        "aromatic": False,
        "hybridization": "sp3",
        "isotope": 0,
        "configuration": "S",
    }
    assert graph.nodes[5]["charge"] == -1
    assert graph.edges[3, 4] == {"bond": "double", "conjugated": True, "ring": False}


@rdkit_needed
@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("C1CC", r"Graph 1: SMILES must have a valid syntax. Got 'C1CC'"),
        ("C(C)(C)(C)(C)C", r"Graph 1: Molecules must be valid.*valence"),
        ("c1cccc1", r"Graph 1: Molecules must be valid. Got 'c1cccc1'.*kekulize"),
        ("", r"Graph 1: Molecules must have at least one atom"),
        (7, r"must be a list of SMILES or RDKit molecules. Got int as graph 1"),
    ],
)
def test_what_is_not_a_molecule_is_named(
    smiles: Any, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidGraphError, match=f"(?is){message}"):
        PackedGraphs.from_smiles(["CC", smiles])
    assert capfd.readouterr().err == ""  # RDKit's own messages


@rdkit_needed
def test_all_invalid_molecules_are_named() -> None:
    with pytest.raises(InvalidGraphError, match=r"Graph 0: .* Got 'C1'\. Correct or remove"):
        PackedGraphs.from_smiles(["C1", "C"])
    message = r"Graph 1: .* Got 'C1'\. 3 of 5 molecules are not valid: graphs 1, 3, 4\."
    with pytest.raises(InvalidGraphError, match=message):
        PackedGraphs.from_smiles(["C", "C1", "CC", "c1cccc1", ""])
    with pytest.raises(InvalidGraphError, match=r"30 of 30 .*: graphs 0, .* 9, …\. Cor"):
        PackedGraphs.from_smiles(["C1"] * 30)


@rdkit_needed
def test_a_single_smiles_is_not_a_list() -> None:
    with pytest.raises(InvalidGraphError, match="Got a single str"):
        PackedGraphs.from_smiles("CCO")


@rdkit_needed
def test_graphs_without_atoms_cannot_be_written() -> None:
    from networkx import path_graph

    with pytest.raises(InvalidGraphError, match="Graph 0 must be a valid molecule"):
        PackedGraphs.from_networkx([path_graph(2)]).to_smiles()


@rdkit_needed
def test_estimators_read_smiles() -> None:
    smiles = ["CCO", "CCCO", "CC(C)O", "CCN", "CCCN", "CC(C)N"]
    model = CLIPClassifier(
        epochs=80, learning_rate=0.01, num_colors=4, hidden_channels=8, random_state=0
    )
    model.fit(smiles, ["alcohol"] * 3 + ["amine"] * 3)
    assert model.predict(["OCC", "NCC"]).tolist() == ["alcohol", "amine"]
    assert model.encoding_ is not None
    assert {own.name for own in model.encoding_.nodes} >= {"element", "charge"}


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rdkit", None)
    with pytest.raises(MissingDependencyError, match=r"clipgnn\[molecules\]"):
        PackedGraphs.from_smiles(["CCO"])
