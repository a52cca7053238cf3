"""The paper's other systems, measured here and not quoted: one file each."""
