const orders = tools.shop.orders({ days: 1000 });
const payments = tools.shop.payments({ days: 1000 })[Symbol.asyncIterator]();

let payment = await payments.next();
const owed = new Map();
for await (const { id, country, cents } of orders) {
  let open = cents;
  while (!payment.done && payment.value.order === id) {
    open -= payment.value.cents;
    payment = await payments.next();
  }
  if (open === 0) continue;
  const sum = owed.get(country) ?? { country, orders: 0, cents: 0 };
  sum.orders += 1;
  sum.cents += open;
  owed.set(country, sum);
}

return [...owed.values()].sort((a, b) => b.cents - a.cents).slice(0, 5);
