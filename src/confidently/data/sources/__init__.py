"""Where bytes come from: files, ranges of files, compressed streams, object stores."""
