import { type Fields, textOf } from "../../../values/fields.ts";
import { ToolNames } from "../../turn/tool-names.ts";

/** The names of tools as OpenAI's namespaces have them: `billing.invoices.list` is `list` of `billing_invoices`. */
export class Namespaces {
  readonly #namespaces: ToolNames;
  readonly #names: ToolNames;
  /** The tool's own name by its declared namespace and name, with a space between them. */
  readonly #own = new Map<string, string>();

  constructor(tools: readonly string[]) {
    const parted = tools.flatMap((tool) => parts(tool) ?? []);
    this.#namespaces = new ToolNames([...new Set(parted.map(({ namespace }) => namespace))]);
    this.#names = new ToolNames([...new Set(parted.map(({ name }) => name))]);
    for (const tool of tools) {
      const given = this.given(tool);
      if (given) this.#own.set(`${given.namespace} ${given.name}`, tool);
    }
  }

  given(tool: string): { readonly namespace: string; readonly name: string } | undefined {
    const { namespace, name } = parts(tool) ?? {};
    if (namespace === undefined || name === undefined) return undefined;
    return { namespace: this.#namespaces.given(namespace), name: this.#names.given(name) };
  }

  /** The tool of a call; the name itself if no tool was declared so. */
  own(namespace: string, name: string): string {
    return this.#own.get(`${namespace} ${name}`) ?? `${namespace}.${name}`.slice(0, 256);
  }

  /** Declarations of functions, with the functions of a namespace inside its declaration. */
  grouped(functions: readonly { readonly tool: string; readonly declaration: Fields }[]): readonly Fields[] {
    const groups = Map.groupBy(functions, ({ tool }) => this.given(tool)?.namespace);
    return [...groups].flatMap(([namespace, members]) => {
      if (namespace === undefined) return members.map(({ declaration }) => declaration);
      const tools = members.map(({ tool, declaration }) => ({
        ...declaration,
        name: this.given(tool)?.name ?? textOf(declaration, "name"),
      }));
      return [{ type: "namespace", name: namespace, description: `Tools of ${namespace}.`, tools }];
    });
  }
}

function parts(tool: string): { readonly namespace: string; readonly name: string } | undefined {
  const dot = tool.lastIndexOf(".");
  return dot < 0 ? undefined : { namespace: tool.slice(0, dot), name: tool.slice(dot + 1) };
}
