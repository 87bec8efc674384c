const NUMBER = new Intl.NumberFormat("en-US");

/** A number for people, like `1,234`. */
export function count(number: number): string {
  return NUMBER.format(number);
}

/** `1 call`, `2 calls`. */
export function counted(number: number, what: string, several = `${what}s`): string {
  return `${count(number)} ${number === 1 ? what : several}`;
}
