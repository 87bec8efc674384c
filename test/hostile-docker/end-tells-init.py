# Tries: to end its container by a word to its first process.
# Ends: crashed engine_died
# Records: restart
os.kill(1, signal.SIGTERM)
time.sleep(1000)
