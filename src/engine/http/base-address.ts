/** An address to which paths can be added: http or https, nothing behind the path. */
export function isBaseAddress(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  return url.search === '' && url.hash === '';
}
