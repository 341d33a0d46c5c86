/**
 * Whether what is sent to an address can't be read on its way: https, or a loopback address of this machine.
 * `localhost` counts as one.
 */
export function isSecure({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname));
}

/** What a token endpoint's address must be, in words. */
export const tokenAddress =
  'an address that begins with https://, without user, password, `?` and `#` (http:// on loopback)';

/** Whether a text is the address of a token endpoint: secure, and nothing in it that would be lost or logged. */
export function isTokenAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return false;
  return isSecure(url) && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}
