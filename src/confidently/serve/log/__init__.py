"""The log of events, on which everything else rests."""
