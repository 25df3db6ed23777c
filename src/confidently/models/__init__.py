"""Models: saving to files, merging, inspection, explanation and export."""
