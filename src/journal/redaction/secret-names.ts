/** Names of fields whose values are secret, without what stands between their words. */
const SECRET_NAME =
  /(?:password|passwd|passphrase|pwd|secret|secretkey|apikey|accesskey|accesskeyid|privatekey|signingkey|encryptionkey|authtoken|accesstoken|refreshtoken|idtoken|bearertoken|sessiontoken|authorization|credential|credentials|clientsecret|cookie|setcookie|sessionid|connectionstring)$/;
/** Names that end in `token` are secret, except for tokens of pages and counts of tokens. */
const TOKEN_NAME = /(?<!page|next|cursor|continuation|sync|max|input|output)token$/;
const BETWEEN_WORDS = /[^a-z0-9]/g;

/** Whether a name along a path says that its value is secret, as in `user.password` and `secret.value`, not in `secrets`. */
export function isSecretPath(path: string): boolean {
  return path.split(".").some((name) => isSecretName(name));
}

export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(BETWEEN_WORDS, "");
  return SECRET_NAME.test(plain) || TOKEN_NAME.test(plain);
}
