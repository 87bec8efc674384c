// Tries: to reach a tool that programs may not call, by every spelling of its name.
// Ends: completed ["undefined","TypeError","TypeError","TypeError","TypeError","undefined","read,echo,list,large,rows,bad_rows,hang,slow,fail,strange,write"]
// Runs: vault.open 0
const attempts = [
  () => typeof tools["vault.open"],
  () => tools.vault.open({}),
  () => Reflect.apply(tools.read, { name: "vault.open" }, [{ id: 1 }]) && tools["vault"]["open"]({}),
  () => new tools.read("vault.open", {}),
  () => Object.defineProperty(tools.read, "name", { value: "vault.open" }),
  () => typeof Object.getPrototypeOf(tools)?.vault,
  () => Object.keys(tools).join(),
];
return attempts.map((attempt) => {
  try {
    return attempt();
  } catch (error) {
    return error.name;
  }
});
