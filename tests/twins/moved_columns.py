"""A slow twin of what tells which columns of a table moved (core/tasks/moved_columns.hpp)."""

import math

ROWS_PER_LOOK = {4: 2, 16: 4, 48: 8, math.inf: 16}  # by the largest number of columns
FIRST, BLOCK, MORE, LEVEL = 32, 16, 4, 0.01


def drawn(n):
    """Return a number in [0, 1) for each n (splitmix64)."""
    mask = 2**64 - 1
    n = (n + 1) * 0x9E3779B97F4A7C15 & mask
    n = (n ^ n >> 30) * 0xBF58476D1CE4E5B9 & mask
    n = (n ^ n >> 27) * 0x94D049BB133111EB & mask
    return ((n ^ n >> 31) >> 11) / 2**53


def edges_of(values):
    """Return the edges within a column by its first values."""
    below = [math.nextafter(value, -math.inf) for value in sorted(values)]
    values = sorted(values)
    low, high = len(values) // 4, len(values) * 3 // 4
    constant = values[0] == values[-1]
    return [
        values[low] if values[low] == values[0] and not constant else below[low],
        below[high] if values[high] == values[-1] and not constant else values[high],
    ]


class Column:
    """The bets on one column, each by itself: one for each edge, side and block with which it begins."""

    def __init__(self, first):
        self.edges, self.values, self.bets, self.moved = edges_of(first), [], [], False

    def mean_bet(self):
        """Return the mean of all bets after another block."""
        self.bets.append([1.0] * 4)
        block = self.values[-BLOCK:]
        for e, edge in enumerate(self.edges):
            above, share = sum(x > edge for x in block), sum(x > edge for x in self.values) / len(self.values)
            up = 2.0**above / (1.0 + share) ** BLOCK
            down = 2.0 ** (BLOCK - above) / (2.0 - share) ** BLOCK
            for own in self.bets:
                own[e], own[2 + e] = own[e] * up, own[2 + e] * down
        stakes = [1.0 / (turn * (turn + 1.0)) for turn in range(1, len(self.bets) + 1)]
        return sum(stake * sum(own) / 4.0 for stake, own in zip(stakes, self.bets, strict=True))


class MovedColumns:
    """Learns rows of a fixed number of columns; ``moves`` lists rows, from 1, and the columns that had moved there.

    ``repeated`` counts the rows that were looked at and are equal to one of the first ones.
    """

    def __init__(self):
        self.rows, self.next, self.group_end, self.width, self.moves = 0, 0, 1, 0, []
        self._begin()

    def _begin(self):
        self.first, self.columns, self.looks, self.row, self.waited, self.repeated = [], [], 0, 0, 0, 0

    def learn(self, row):
        """Learn a row."""
        self.rows += 1
        if self.rows - 1 < self.next:
            return
        begin, each = self.group_end, 1
        if self.moves or self.columns:
            each = next(each for most, each in ROWS_PER_LOOK.items() if self.width <= most)
        self._see([float(x) for x in row])
        self.next, self.group_end = begin + int(drawn(begin) * each), begin + each

    def _see(self, row):
        self.width = max([self.width, *(k + 1 for k, x in enumerate(row) if x != 0.0)])
        if not self.columns:
            self.first.append(row)
            if len(self.first) == FIRST:
                self.columns = [Column(values) for values in zip(*self.first, strict=True)]
            return
        for column, x in zip(self.columns, row, strict=True):
            column.values.append(x)
        self.looks += 1
        self.repeated += row in self.first
        if self.looks % BLOCK == 0:
            self._settle()

    def _settle(self):
        for column in self.columns:
            column.moved |= column.mean_bet() >= max(self.width, 1) / LEVEL
        if not any(column.moved for column in self.columns):
            return
        self.waited, self.row = (self.waited + 1, self.row) if self.row else (0, self.rows)
        if self.waited == MORE:
            self.moves.append((self.row, [k for k, column in enumerate(self.columns) if column.moved]))
            self._begin()
