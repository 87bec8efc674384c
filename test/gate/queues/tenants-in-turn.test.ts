import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TenantsInTurn } from "../../../src/gate/queues/tool-queues.ts";

type Task = (() => Promise<void>) & { readonly tenant: string; readonly id: number };

test("tasks of a tenant keep their order, and no tenant that waits is passed over twice", () => {
  const step = fc.oneof(
    fc.record({ type: fc.constant("add" as const), tenant: fc.constantFrom("a", "b", "c") }),
    fc.record({ type: fc.constant("take" as const) }),
    fc.record({ type: fc.constant("remove" as const), id: fc.nat(40) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new TenantsInTurn();
      const waiting: Task[] = [];
      const passedOver = new Map<string, Map<string, number>>();
      let ids = 0;
      for (const one of steps) {
        if (one.type === "add") {
          const task = Object.assign(async () => {}, { tenant: one.tenant, id: (ids += 1) });
          waiting.push(task);
          queue.enqueue(task, { tenant: task.tenant, id: String(task.id) });
        } else if (one.type === "remove") {
          queue.remove(String(one.id));
          const index = waiting.findIndex(({ id }) => id === one.id);
          if (index !== -1) waiting.splice(index, 1);
        } else {
          const task = queue.dequeue() as Task | undefined;
          const first = waiting.find(({ tenant }) => tenant === task?.tenant);
          expect(task).toBe(first);
          if (!task) continue;
          waiting.splice(waiting.indexOf(task), 1);
          passedOver.delete(task.tenant);
          for (const { tenant } of waiting) {
            if (tenant === task.tenant) continue;
            const times = passedOver.get(tenant) ?? new Map<string, number>();
            passedOver.set(tenant, times);
          }
          for (const [tenant, times] of passedOver) {
            if (!waiting.some((other) => other.tenant === tenant)) passedOver.delete(tenant);
            else times.set(task.tenant, (times.get(task.tenant) ?? 0) + 1);
            expect(times.get(task.tenant) ?? 0).toBeLessThanOrEqual(2);
          }
        }
        expect(queue.size).toBe(waiting.length);
        expect((queue.filter() as Task[]).toSorted((x, y) => x.id - y.id)).toEqual(waiting);
      }
    }),
  );
});
