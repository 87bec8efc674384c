# Tries: to end by a fault of the machine.
# Ends: crashed engine_died
# Records: restart
ctypes.string_at(0)
