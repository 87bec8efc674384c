import { scriptedModel } from "portcullis/testing";

const PROGRAM = `const orders = await tools.orders.list({});
const lost = orders.filter(({ delivered, complaint }) => !delivered && complaint !== null);
return Promise.all(
  lost.map(async ({ id, euros }) => {
    try {
      return await tools.orders.refund({ order: id, euros });
    } catch (error) {
      return { order: id, refused: error.message };
    }
  }),
);`;

/** Stands for a real model: it proposes the refunds in one program, and then tells what has become of them. */
export default scriptedModel(
  [
    { text: "I refund the orders that never arrived.", programs: [PROGRAM] },
    ({ results }) => ({ text: `Done. ${results[0]?.text ?? ""}` }),
  ],
  { name: "scripted:refunds" },
);
