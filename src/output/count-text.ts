const NUMBER = new Intl.NumberFormat("en-US");

/** A number for people, like `1,234`. */
export function count(number: number): string {
  return NUMBER.format(number);
}

/** `1 call`, `2 calls`. */
export function counted(number: number, what: string): string {
  return `${count(number)} ${what}${number === 1 ? "" : "s"}`;
}
