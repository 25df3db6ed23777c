"""What commands print, plot and write."""
