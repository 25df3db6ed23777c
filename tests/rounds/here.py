"""The plain twin of all engines: one process, which trains on one cell after the other."""

import pyarrow as pa

from confidently.data.sources.in_memory import InMemory
from confidently.rounds.rounds import groups
from confidently.rounds.tasks import merge_learned


class Here:
    """Trains on slices of tables, which are the units of the cells."""

    copies = 1

    def __init__(self, tables):
        self.tables = tables

    def learn(self, assigned):
        found = [
            assigned.job.learn(assigned.base, [self.rows(cell)], assigned.calibrate, assigned.seed_of(k))
            for k, cell in enumerate(assigned.cells)
        ]
        while len(found) > 1:
            found = [
                merge_learned(assigned.base, group, assigned.job) if len(group) > 1 else group[0]
                for group in groups(found)
            ]
        return found[0]

    def rows(self, cell):
        table = pa.concat_tables(self.tables[piece.unit].slice(piece.first, piece.last - piece.first) for piece in cell)
        return InMemory("parquet", table, table.num_rows)
