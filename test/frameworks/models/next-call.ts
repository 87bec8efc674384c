/** What a model calls after these results: its first call, then programs that wait, then nothing. */
export function nextCall(results: readonly unknown[], name: string, input: unknown) {
  if (results.length === 0) return { name, input: JSON.stringify(input) };
  const handle = /continue_program with (\{.*?\})/.exec(String(results.at(-1)))?.[1];
  return handle === undefined ? undefined : { name: "continue_program", input: handle };
}
