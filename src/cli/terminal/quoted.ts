/** An argument as a shell takes it. */
export function quoted(arg: string): string {
  return /^[\w./:@=-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", String.raw`'\''`)}'`;
}
