import { inspect } from 'node:util';
import { groupBy } from '../../core/group-by.js';

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

/**
 * Removes secrets from answers: a service may quote what it was sent, and its answers appear in errors and logs. A secret is
 * found literally, with any character escaped as in URLs, JSON or HTML, in base64 (also within a longer text), and in hex.
 */
export class Redaction {
  readonly #secrets: readonly string[];
  #forms: Forms | undefined;

  constructor(secrets: readonly (string | undefined)[]) {
    this.#secrets = secrets.filter((secret) => secret !== undefined).filter((secret) => secret !== '');
  }

  /** The bytes of an answer without the secrets; the same array where there are none. */
  bytes(body: Uint8Array): Uint8Array {
    if (this.#secrets.length === 0) return body;
    // One byte is one character, which preserves bytes that aren't UTF-8.
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1');
    const redacted = this.#text(text);
    return redacted === text ? body : Buffer.from(redacted, 'latin1');
  }

  headers(headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    if (this.#secrets.length === 0) return headers;
    return new Map([...headers].map(([name, value]) => [name, this.#text(value)]));
  }

  /** Whether a page contains a secret, literally or encoded. */
  isIn(page: Uint8Array): boolean {
    const bytes = Buffer.from(page.buffer, page.byteOffset, page.byteLength);
    const long = this.#secrets.filter((secret) => secret.length >= shortestSecret);
    const forms = long.flatMap((secret) => [
      ...encodedForms(secret),
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
    ]);
    if (forms.some((form) => bytes.includes(form))) return true;
    // Reading the page would resolve JSON escapes. Searching for them takes ten times as long.
    if (long.length === 0 || !['\\u00', '\\/'].some((escape) => bytes.includes(escape))) return false;
    return findForm(bytes.toString('latin1'), formsOf(long), 0) !== undefined;
  }

  #text(text: string): string {
    this.#forms ??= formsOf(this.#secrets);
    let redacted = '';
    let end = 0;
    for (let found = findForm(text, this.#forms, 0); found !== undefined; found = findForm(text, this.#forms, end)) {
      redacted += text.slice(end, found.start) + shown;
      end = found.end;
    }
    return redacted + text.slice(end);
  }
}

/** The secret literally, in hex, and in base64 at each of the three offsets within a group of bytes. */
function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first and the last character share bits with the neighbouring bytes.
    const shared = (before + bytes.length) % 3 === 0 ? 0 : 1;
    const inner = text.slice(Math.ceil((before * 8) / 6), text.length - shared);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const hex = bytes.toString('hex');
  return [...new Set([secret, hex, hex.toUpperCase(), ...base64])].filter((form) => form !== '');
}

/** The bytes of encoded secrets, by their first byte. */
type Forms = ReadonlyMap<number, readonly Buffer[]>;

function formsOf(secrets: readonly string[]): Forms {
  const forms = secrets.flatMap((secret) =>
    encodedForms(secret).filter((form) => form === secret || form.length >= shortestSecret),
  );
  return groupBy(
    forms.map((form) => Buffer.from(form)),
    (bytes) => bytes.readUInt8(0),
  );
}

/**
 * Finds the first form at or after `from`, its characters literal or escaped. A regular expression for three tokens would take
 * seconds to compile.
 */
function findForm(text: string, forms: Forms, from: number) {
  for (let start = from; start < text.length; start++) {
    if (!forms.has(text.charCodeAt(start)) && !escapeStarts.includes(text.charAt(start))) continue;
    for (const [byte] of readings(text, start)) {
      for (const form of forms.get(byte) ?? []) {
        const end = endOf(text, start, form, 0);
        if (end !== undefined) return { start, end };
      }
    }
  }
  return undefined;
}

/** The end of a form, from `index` on, that begins at `at`; undefined where it isn't there. */
function endOf(text: string, at: number, form: Buffer, index: number): number | undefined {
  if (index === form.length) return at;
  for (const [byte, behind] of readings(text, at)) {
    if (byte !== form[index]) continue;
    const end = endOf(text, behind, form, index + 1);
    if (end !== undefined) return end;
  }
  return undefined;
}

const escapeStarts = '%\\&+';

/** Numeric escapes of a byte: in a URL (encoded twice, or once), JSON and HTML. */
const escapes: readonly (readonly [pattern: RegExp, radix: number])[] = [
  [/%25([\da-f]{2})/iy, 16],
  [/%([\da-f]{2})/iy, 16],
  [/\\u00([\da-fA-F]{2})/y, 16],
  [/&#0*(\d{1,3});/y, 10],
  [/&#x0*([\da-f]{2});/iy, 16],
];

/** Named escapes of HTML, and the `+` of forms. */
const names: readonly (readonly [name: string, byte: number])[] = [
  ['+', 0x20],
  ['&quot;', 0x22],
  ['&amp;', 0x26],
  ['&apos;', 0x27],
  ['&lt;', 0x3c],
  ['&gt;', 0x3e],
];

/** The bytes that a character or an escape at `at` may mean, each with the index after it; escapes first, the character itself last. */
function readings(text: string, at: number): readonly (readonly [byte: number, behind: number])[] {
  const found: (readonly [number, number])[] = [];
  const code = text.charCodeAt(at);
  if (Number.isNaN(code)) return found;
  const character = text.charAt(at);
  if (escapeStarts.includes(character)) {
    for (const [pattern, radix] of escapes) {
      pattern.lastIndex = at;
      const [, digits] = pattern.exec(text) ?? [];
      if (digits !== undefined) found.push([parseInt(digits, radix), pattern.lastIndex]);
    }
    for (const [name, byte] of names) if (text.startsWith(name, at)) found.push([byte, at + name.length]);
    // A backslash and a letter are a control character.
    if (character === '\\' && /[^a-z0-9]/i.test(text.charAt(at + 1))) found.push([text.charCodeAt(at + 1), at + 2]);
  }
  found.push([code, at + 1]);
  return found;
}
