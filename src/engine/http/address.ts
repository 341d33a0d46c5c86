/**
 * Whether what is sent to an address can't be read on its way: https, or a loopback address of this machine.
 * `localhost` counts as one.
 */
export function isSecure(address: URL): boolean {
  return address.protocol === 'https:' || (address.protocol === 'http:' && isLoopback(address));
}

/** Whether an address is one of this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
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

/** An address to which paths can be added: http or https, nothing behind the path. */
export function isBaseAddress(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  return url.search === '' && url.hash === '';
}
