// Tries: to end as if all were well.
// Ends: crashed engine_died
// Records: restart
process.exit(0);
