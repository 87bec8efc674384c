// Tries: to read what handlers give that go wrong in every way.
// Ends: completed {"throws":"2 handler_failed","invalid":"2 output_invalid","huge":"2 result_too_large","promise":"2 output_invalid","returns":"2 output_invalid","text":"0 output_invalid","hangs":"2 output_invalid"}
const seen = {};
for (const how of ["throws", "invalid", "huge", "promise", "returns", "text", "hangs"]) {
  let count = 0;
  try {
    for await (const row of tools.bad_rows({ how })) count += row === null ? 0 : 1;
  } catch (error) {
    seen[how] = `${count} ${error.code}`;
  }
}
return seen;
