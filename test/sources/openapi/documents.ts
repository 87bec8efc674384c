/** Documents that nobody wrote for these tests. */
export const DOCUMENTS = [
  {
    what: "GitHub, OpenAPI 3.0",
    file: "examples/operations/api.github.com.json.br",
    tools: 1223,
    names: ["api.issues.listForRepo", "api.repos.get"],
    servers: ["api.repos.uploadReleaseAsset: the document names a server of its own, https://uploads.github.com. "],
  },
  {
    what: "GitHub Enterprise Cloud, what it has beyond GitHub",
    file: "test/fixtures/github-enterprise.json.br",
    tools: 258,
    names: ["api.scim.listProvisionedIdentities"],
    servers: [],
  },
  {
    what: "Kubernetes, Swagger 2.0, with schemas that refer to themselves",
    file: "test/fixtures/kubernetes.json.br",
    tools: 1014,
    names: ["api.listCoreV1NamespacedPod", "api.readApiextensionsV1beta1CustomResourceDefinition"],
    servers: [],
  },
] as const;

export const urlOf = (file: string): URL => new URL(`../../../${file}`, import.meta.url);
