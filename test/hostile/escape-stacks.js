// Tries: to learn where it runs, from every stack it can get.
// Ends: completed []
const stacks = [new Error().stack];
stacks.push(await tools.fail({ how: "error" }).catch((error) => error.stack));
stacks.push(await tools.read({ id: "wrong" }).catch((error) => error.stack));
try {
  JSON.stringify({ toJSON: () => null.x });
} catch (error) {
  stacks.push(error.stack);
}
stacks.push(await new Promise((resolve) => setTimeout(() => resolve(new Error().stack), 1)));
return stacks.join("\n").match(/\S*(?:file:|node:|[\\/](?:src|bridge|node_modules|home|work|usr|tmp)[\\/]|engine\.js)\S*/g) ?? [];
