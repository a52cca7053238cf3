"""Checksums of files of the TU collection.

Other data sets of the collection are not compared with checksums.
"""

SHA256: dict[str, dict[str, str]] = {
    "MUTAG": {
        "A": "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2",
        "edge_labels": "4669ce755075ff86c3240709345745886400908fa637a49310459b9c267b3e56",
        "graph_indicator": "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056",
        "graph_labels": "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
        "node_labels": "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
    },
    "PTC_MR": {
        "A": "f79523ff94dfbef539e5602a8ac1931a50a2800f33fa1d30e5e31725289b5202",
        "edge_labels": "acee2f93b52175a329009dc837bea9db7c2a121c2ef0b1587b38bbe6fc9b8177",
        "graph_indicator": "d52754f3cbc54e29324f884b4c17200c16e06db0c499afae300b4fa1bb6d794b",
        "graph_labels": "64210accbe4c6c027535b1294e0da652b1f539667f7a2d4bf5121dcd8b00a224",
        "node_labels": "cc50d1e1c5f4c98b2100cf50c5ddd88ff28b419a9180d531046b75ce22983235",
    },
    "PROTEINS": {
        "A": "4c4b33e272fc95cac6d27ed6d5d12b9a852c8610e91fff59f8f0dbdd5a20df67",
        "graph_indicator": "8d4ff1e852a5c28561e9bffb44cf9490bc552b13a3b6156dd12dc7f44e9afc4a",
        "graph_labels": "c0ef9810c440775252872318d0c8adc385588e14bc4c47a2c34aa96ee3c7cdcd",
        "node_attributes": "54eef829abb37e458a5fbf3a3c581e48e5810e220463c2cd951856b9ceb08f07",
        "node_labels": "f758e8ad3d6e3c026b50833d75f6f90735b94eb3345e4243707f495ca8afea8d",
    },
}
"""SHA-256 by data set and by the part of the file name between `NAME_` and `.txt`."""
