import type { PageRequest } from '../../engine/paging/paged-api.js';
import type { ApiRequest } from './definition.js';
import { callDefinition } from './load-definitions.js';
import { definitionError } from '../records/definition-error.js';

/** Segments `..`, also escaped: a server may resolve what a URL doesn't. */
const dotSegments = /(?:\/|%2f|%5c)(?:\.|%2e){2}(?:\/|%2f|%5c|$)/i;

export const defaultPageSize = 100;

/** Headers with credentials, whatever the source of their text. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
]);

/** Headers of the transport, which a definition must not set. */
const transportHeaders: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'accept-encoding',
  'expect',
]);

/**
 * The HTTP request for a definition's request.
 *
 * @param prefix the path before that of a request
 * @param from path and query of the page with the link
 * @throws LedgerlakeError DEFINITION for an invalid request, and for a link out of the address, which must not get the headers
 */
export function pageRequest(
  file: string,
  { origin, prefix }: { readonly origin: string; readonly prefix: string },
  request: ApiRequest | string,
  from = '',
): PageRequest {
  if (typeof request === 'string') {
    const base = `${origin}${from === '' ? `${prefix}/` : from}`;
    const url = URL.canParse(request, base) ? new URL(request, base) : undefined;
    const isWithin = url !== undefined && url.pathname.startsWith(`${prefix}/`) && !dotSegments.test(url.pathname);
    if (url?.origin === origin && isWithin) return { path: url.pathname + url.search };
    const found = JSON.stringify(request.slice(0, 100));
    throw definitionError(file, 'next', `expected a link to ${origin}${prefix}/, got ${found}`);
  }
  const { path, query, headers, body } = checkedRequest(file, request);
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    [value]
      .flat()
      .flatMap((one) => (one === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(one)}`])),
  );
  const sent = Object.entries(headers ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), String(value)]],
  );
  if (body !== undefined) sent.push(['content-type', 'application/json']);
  return {
    path: `${prefix}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`,
    ...(sent.length > 0 && { headers: Object.fromEntries(sent) as Record<string, string> }),
    ...(body !== undefined && { body: bodyText(file, body) }),
  };
}

/** Parses the text of `requestText`: a path, or the request as JSON. */
export function readRequest(text: string): PageRequest {
  return text.startsWith('/') ? { path: text } : (JSON.parse(text) as PageRequest);
}

const field = 'first or next';

/** Checks the types, which JavaScript doesn't. */
function checkedRequest(file: string, request: Partial<ApiRequest> | null | undefined): ApiRequest {
  const { path, query = {}, headers = {}, body } = request ?? {};
  const refuse = (what: string) => definitionError(file, field, `expected ${what}`);
  if (typeof path !== 'string' || !/^\/[^\s?#]*$/.test(path)) {
    const found = path === undefined ? 'nothing' : JSON.stringify(path);
    throw refuse(`a path that begins with / and has no ? in it, got ${found}`);
  }
  if (dotSegments.test(path)) throw refuse(`a path without .. in it, got ${JSON.stringify(path.slice(0, 100))}`);
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat() as unknown[]) {
      if (typeof one === 'string' || one === undefined || Number.isFinite(one)) continue;
      throw refuse(`query.${name} to be a text, a number or a list of them, got ${typeof one}`);
    }
  }
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!/^[\w-]{1,64}$/.test(name) || transportHeaders.has(lower)) {
      throw refuse(`headers without ${JSON.stringify(name)}, which this program sets itself or cannot send`);
    }
    if (credentialHeaders.has(lower))
      throw refuse(`${name} in api.headers or api.signIn: a request's headers hold no secret`);
    if (value === undefined || Number.isFinite(value)) continue;
    if (typeof value === 'string' && /^[\t\u0020-\u007e]*$/.test(value)) continue;
    throw refuse(`headers.${name} to be a number or a text of visible ASCII on one line, got ${typeof value}`);
  }
  return { path, query, headers, ...(body !== undefined && { body }) };
}

function bodyText(file: string, body: unknown): string {
  const text = callDefinition(file, field, () => JSON.stringify(body) as string | undefined);
  if (text !== undefined) return text;
  throw definitionError(file, field, `expected body to be a value that JSON can hold, got ${typeof body}`);
}
