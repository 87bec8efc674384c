// Tries: to read what handlers give that go wrong in every way.
// Ends: completed {"throws":"2 handler_failed","invalid":"2 handler_failed","huge":"2 result_too_large","promise":"2 handler_failed","returns":"2 handler_failed","text":"0 handler_failed","hangs":"2 handler_failed"}
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
