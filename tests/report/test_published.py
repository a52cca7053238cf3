"""Numbers of the paper, compared with its tables."""

from clipgnn.report.published import PAPER_NUMBERS, Published, published


def test_the_numbers_of_the_paper():
    assert published("table2", "16-CLIP", "csl") == Published(90.8, 6.8, 98.7, 76.0)
    assert published("table1", "AWL", "PTC_MR") is None
    assert published("table1", "DCNN", "MUTAG") == Published(67.0)
    assert published("table2", "Ring-GNN", "csl") == Published(None, 15.7, 80.0, 10.0)
    assert published("table4", "8-CLIP", "MUTAG") == Published(93.9, 4.1)
    assert published(None, "16-CLIP", "csl") is None
    assert {name: len(rows) for name, rows in PAPER_NUMBERS.items()} == {
        "table1": 8,
        "table2": 7,
        "table4": 5,
    }
