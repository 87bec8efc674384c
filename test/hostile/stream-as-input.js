// Tries: to pass a stream on as an input.
// Ends: completed {"code":"input_invalid","read":3}
const rows = tools.rows({ n: 3 });
let code;
try {
  await tools.echo({ value: rows });
} catch (error) {
  code = error.code;
}
let read = 0;
for await (const row of rows) read += row.id >= 0 ? 1 : 0;
return { code, read };
