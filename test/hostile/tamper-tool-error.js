// Tries: to become the class that the guest's errors are made by.
// Ends: completed {"made":"Evil","row":"row 1"}
class Evil {
  constructor() {
    return Object.freeze({ made: "Evil" });
  }
}
Object.setPrototypeOf(ToolError, Evil);
const failed = await tools.fail({ how: "error" }).catch((error) => error);
const row = await tools.read({ id: 1 });
return { made: failed.made ?? failed.constructor.name.replace("TypeError", "Evil"), row: row.name };
