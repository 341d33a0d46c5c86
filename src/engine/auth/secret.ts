import { inspect } from 'node:util';
import { SecretSearch } from './secret-search.js';

const shown = '[secret]';

/** A text that must not appear in logs, errors or JSON: every conversion gives `[secret]`, except `reveal`. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for a request. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}

/** A shorter text would occur by chance in any page. */
const shortestSecret = 8;
/** A shorter part of a secret is none by itself. */
const shortestPart = 4;

/**
 * Removes secrets from answers: a service may quote what it was sent, and its answers appear in errors and logs. A secret is
 * found literally, with any character escaped as in URLs, JSON or HTML, in base64 (also within a longer text), and in hex; and so
 * are the user and password that Basic authorization has in base64.
 */
export class Redaction {
  readonly #secrets: readonly string[];
  #search: SecretSearch | undefined;
  #longSearch: SecretSearch | undefined;

  constructor(secrets: readonly (string | undefined)[]) {
    const known = secrets.filter((secret) => secret !== undefined).filter((secret) => secret !== '');
    this.#secrets = [...new Set([...known, ...known.flatMap(partsOf)])];
  }

  /** The bytes of an answer without the secrets; the same array where there are none. */
  bytes(body: Uint8Array): Uint8Array {
    if (this.#secrets.length === 0) return body;
    this.#search ??= new SecretSearch(formsOf(this.#secrets));
    const matches = this.#search.matches(body).toSorted((a, b) => a.start - b.start);
    if (matches.length === 0) return body;
    const pieces: Uint8Array[] = [];
    let end = 0;
    for (const match of matches) {
      // Of matches that overlap all is removed.
      if (match.start >= end) pieces.push(body.subarray(end, match.start), mark);
      end = Math.max(end, match.end);
    }
    return Buffer.concat([...pieces, body.subarray(end)]);
  }

  headers(headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    if (this.#secrets.length === 0) return headers;
    return new Map([...headers].map(([name, value]) => [name, this.#header(value)]));
  }

  /** Whether a page contains a secret, literally or encoded. */
  isIn(page: Uint8Array): boolean {
    const long = this.#secrets.filter((secret) => secret.length >= shortestSecret);
    if (long.length === 0) return false;
    this.#longSearch ??= new SecretSearch(formsOf(long));
    return this.#longSearch.isIn(page);
  }

  /** One byte of a header is one character. */
  #header(value: string): string {
    return Buffer.from(this.bytes(Buffer.from(value, 'latin1'))).toString('latin1');
  }
}

const mark = Buffer.from(shown);

/** The secrets within one: what follows the scheme of an authorization, what base64 has, and of `user:password` the password. */
function partsOf(secret: string): readonly string[] {
  const [, credential = secret] = /^[a-z][\w-]* +(\S+)$/i.exec(secret) ?? [];
  const login = fromBase64(credential) ?? credential;
  const colon = login.indexOf(':');
  // A colon in a token that isn't base64 separates nothing.
  const password = login === credential || colon === -1 ? '' : login.slice(colon + 1);
  return [credential, login, password].filter((part) => part !== secret && part.length >= shortestPart);
}

/** The text that base64 has; undefined where it isn't base64 of a text. */
function fromBase64(text: string): string | undefined {
  if (!/^[\w+/-]{2,}={0,2}$/.test(text)) return undefined;
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'base64'));
    return /^[^\p{Cc}]+$/u.test(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** What is searched for of secrets. An encoded form that is short would occur by chance. */
function formsOf(secrets: readonly string[]): readonly string[] {
  return secrets.flatMap((secret) => [secret, ...encodedForms(secret).filter((form) => form.length >= shortestSecret)]);
}

/** The secret in hex, and in base64 at each of the three offsets within a group of bytes, also escaped as in URLs before. */
function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const escaped = Buffer.from(encodeURIComponent(bytes.toString()));
  const base64 = [bytes, escaped].flatMap((text) => [0, 1, 2].map((before) => innerBase64(text, before)));
  const hex = bytes.toString('hex');
  const url = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  return [...new Set([hex, hex.toUpperCase(), ...base64, ...url])];
}

/** The characters of base64 that contain nothing but the bytes, where `before` other ones precede them. */
function innerBase64(bytes: Uint8Array, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '');
  // The first and the last character share bits with the neighbouring bytes.
  const shared = (before + bytes.length) % 3 === 0 ? 0 : 1;
  return text.slice(Math.ceil((before * 8) / 6), text.length - shared);
}
