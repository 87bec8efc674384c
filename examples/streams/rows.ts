/*
 * The orders of a shop and the payments for them, made by a generator: the same rows in each run, and as many days as are
 * asked for. Both are sorted by the order's id.
 */
export const ORDERS_A_DAY = 5000;
export const DAYS = 1000;

export interface Order {
  readonly id: string;
  readonly day: number;
  readonly customer: string;
  readonly country: string;
  readonly cents: number;
  readonly note: string;
}

export interface Payment {
  readonly order: string;
  readonly cents: number;
  readonly method: string;
  readonly reference: string;
}

const COUNTRIES = [
  "AT",
  "BE",
  "CH",
  "CZ",
  "DE",
  "DK",
  "ES",
  "FI",
  "FR",
  "GB",
  "IE",
  "IT",
  "NL",
  "NO",
  "PL",
  "PT",
  "SE",
];
const METHODS = ["card", "transfer", "invoice", "voucher"];
const NOTE = "Leave the parcel with the neighbours on the second floor if there is no answer, and ring the bell twice.";
const REFERENCE = "Payment received by the bank and matched by its reference; no further action is needed for it.";

/** A whole number below 2^32 that is the same for the same numbers, and looks like chance. */
export function mixed(index: number, salt: number): number {
  let bits = Math.imul(index + 1, 0x9e37_79b1) ^ Math.imul(salt, 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b_3c6d);
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a_2d39);
  return (bits ^ (bits >>> 15)) >>> 0;
}

const idOf = (index: number) => `order-${String(index).padStart(9, "0")}`;
const centsOf = (index: number) => 500 + (mixed(index, 1) % 20_000);

export function* ordersOf(days: number, from = 0): Generator<Order> {
  for (let index = from; index < days * ORDERS_A_DAY; index += 1)
    yield {
      id: idOf(index),
      day: Math.floor(index / ORDERS_A_DAY),
      customer: `customer-${mixed(index, 2) % 1_000_000}`,
      country: COUNTRIES[mixed(index, 3) % COUNTRIES.length] ?? "",
      cents: centsOf(index),
      note: NOTE,
    };
}

/** Of 16 orders one is not paid, one is paid in part, two are paid twice half, and the others at once. */
export function* paymentsOf(days: number): Generator<Payment> {
  for (let index = 0; index < days * ORDERS_A_DAY; index += 1) {
    const cents = centsOf(index);
    const kind = mixed(index, 4) % 16;
    if (kind === 0) continue;
    const half = Math.floor(cents / 2);
    yield paymentOf(index, kind < 4 ? half : cents);
    if (kind === 2 || kind === 3) yield paymentOf(index, cents - half);
  }
}

function paymentOf(index: number, cents: number): Payment {
  const method = METHODS[mixed(index, 5) % METHODS.length] ?? "";
  return { order: idOf(index), cents, method, reference: `${method}-${mixed(index, 6)}: ${REFERENCE}` };
}
