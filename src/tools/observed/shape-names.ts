import { addShapes, type Shape } from "./shape.ts";

/** The names of all fields of a shape. */
export function namesIn(shape: Shape): readonly string[] {
  const names = new Set<string>();
  const open: (Shape | undefined)[] = [shape];
  for (let part = open.pop(); part !== undefined || open.length > 0; part = open.pop()) {
    if (!part) continue;
    const { fields, items, others, json } = part;
    for (const [name, of] of fields ?? []) {
      names.add(name);
      open.push(of);
    }
    open.push(items, others, json);
  }
  return [...names];
}

/** The shape with these names taken for data. */
export function withoutNames(shape: Shape, hidden: ReadonlySet<string>): Shape {
  if (hidden.size === 0) return shape;
  const { fields, items, others, json } = shape;
  const all = [...(fields ?? [])].map(([name, of]) => [name, withoutNames(of, hidden)] as const);
  const data = all.filter(([name]) => hidden.has(name)).map(([, of]) => of);
  const inside = (part: Shape | undefined) => part && withoutNames(part, hidden);
  return {
    ...shape,
    items: inside(items),
    json: inside(json),
    fields: fields && new Map(all.filter(([name]) => !hidden.has(name))),
    others: data.reduce<Shape | undefined>((sum, of) => (sum ? addShapes(sum, of) : of), inside(others)),
  };
}
