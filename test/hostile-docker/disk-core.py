# Tries: to have a large core of itself written to the disk.
# Ends: crashed engine_died
# Records: restart
kept = b"x" * 30_000_000
os.abort()
