"""Models as files, merged, inspected, explained and exported."""
