/** Adds a row to the table of `make bench`. */
export type Row = (what: string, value: number, unit: string, floor: number | undefined, aim: string) => void;
