/** An order of the shop. */
export interface Order {
  readonly id: string;
  readonly country: "DE" | "FR" | "PL";
  readonly euros: number;
  /** Days since the promised day on which it has not arrived; 0 if it arrived. */
  readonly daysLate: number;
}

const COUNTRIES = ["DE", "FR", "PL"] as const;

/** 5,000 orders, the same at each start. */
export const ORDERS: readonly Order[] = Array.from({ length: 5000 }, (_, n) => ({
  id: `A-${1000 + n}`,
  country: COUNTRIES[n % COUNTRIES.length] ?? "DE",
  euros: ((n * 7919) % 50_000) / 100 + 1,
  daysLate: Math.max(0, ((n * 31) % 97) - 89),
}));
