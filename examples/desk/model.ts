import { scriptedModel } from "portcullis/testing";

const COUNT = `const late = (await tools.orders.list({})).filter(({ daysLate }) => daysLate > 0);
await save("late orders", late);
const counts = {};
for (const { country } of late) counts[country] = (counts[country] ?? 0) + 1;
return counts;`;

const REFUND = `const late = (await load("late orders")).filter(({ country }) => country === "DE");
const [dearest] = late.sort((one, other) => other.euros - one.euros);
const { order, refunded } = await tools.orders.refund({ order: dearest.id, euros: dearest.euros });
return { order, euros: refunded, left: late.length - 1 };`;

/** The value of the program of the turn before. What follows its line tells what was kept. */
function valueOf(results: readonly { readonly text: string }[]): Record<string, number | string> {
  const [line = "{}"] = (results[0]?.text ?? "{}").split("\n");
  return JSON.parse(line) as Record<string, number | string>;
}

/** Stands for a real model: a program for each of two messages, the second with what the first has kept, and an answer to each. */
export function deskModel() {
  let books: readonly { readonly order: unknown; readonly euros: unknown }[] = [];
  let left: string | number = 0;
  return scriptedModel(
    [
      { text: "I count them in a program.", programs: [COUNT] },
      ({ results }) => {
        const { DE, FR, PL } = valueOf(results);
        return {
          text: JSON.stringify({ reply: `Late are ${DE} in Germany, ${FR} in France, ${PL} in Poland.`, refunded: [] }),
        };
      },
      { text: "The list is kept, so nothing is fetched again.", programs: [REFUND] },
      ({ results }) => {
        const value = valueOf(results);
        books = [{ order: value.order, euros: value.euros }];
        left = value.left ?? 0;
        return { text: JSON.stringify({ reply: `${value.order} is paid back.`, refunded: books }) };
      },
      () => ({ text: JSON.stringify({ reply: `One refund; ${left} orders are left in Germany.`, refunded: books }) }),
    ],
    { name: "scripted:desk" },
  );
}
