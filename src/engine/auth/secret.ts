import { inspect } from 'node:util';

const shown = '[secret]';

/** A text that must not slip into logs, errors or JSON: every way of writing it out gives `[secret]`, but for `reveal`. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the request that needs it. */
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

/** What stands in an answer in the place of a secret. */
const mark = '[secret]';

/** What is shorter would be found by chance in any page. */
const shortestSecret = 8;

/**
 * Takes secrets out of answers: a service may quote what it was sent, and its answers stand in errors and logs. A secret is
 * found as it is, with any of its characters escaped as in URLs, JSON or HTML, in base64 (also as a part of a longer text),
 * and in hex.
 */
export class Redaction {
  readonly #secrets: readonly string[];
  #pattern: RegExp | undefined;

  constructor(secrets: readonly (string | undefined)[]) {
    this.#secrets = secrets.filter((secret) => secret !== undefined).filter((secret) => secret !== '');
  }

  /** The bytes of an answer without any of the secrets; the same bytes where they hold none. */
  bytes(body: Uint8Array): Uint8Array {
    if (this.#secrets.length === 0) return body;
    // One byte is one character here, so that bytes that aren't UTF-8 come through.
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1');
    const left = this.#text(text);
    return left === text ? body : Buffer.from(left, 'latin1');
  }

  headers(headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    if (this.#secrets.length === 0) return headers;
    return new Map([...headers].map(([name, value]) => [name, this.#text(value)]));
  }

  /** Whether a page repeats a secret, as it is or in one of the forms that programs write it in. */
  isIn(page: Uint8Array): boolean {
    const bytes = Buffer.from(page.buffer, page.byteOffset, page.byteLength);
    const long = this.#secrets.filter((secret) => secret.length >= shortestSecret);
    const forms = long.flatMap((secret) => [
      ...encodedForms(secret),
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
    ]);
    if (forms.some((form) => bytes.includes(form))) return true;
    // Escapes of JSON would be gone once the page is read; to look for them takes ten times as long.
    if (long.length === 0 || !['\\u00', '\\/'].some((escape) => bytes.includes(escape))) return false;
    return new RegExp(long.map(patternOf).join('|')).test(bytes.toString('latin1'));
  }

  #text(text: string): string {
    this.#pattern ??= new RegExp(this.#secrets.map(patternOf).join('|'), 'g');
    return text.replace(this.#pattern, mark);
  }
}

/** The secret itself, in hex, and in base64: there it looks different by where in three bytes it begins. */
function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first and the last characters hold bits of what stands beside it.
    const shared = (before + bytes.length) % 3 === 0 ? 0 : 1;
    const inner = text.slice(Math.ceil((before * 8) / 6), text.length - shared);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const hex = bytes.toString('hex');
  return [...new Set([secret, hex, hex.toUpperCase(), ...base64])].filter((form) => form !== '');
}

/** Finds all forms, the characters of each as they are or escaped. */
function patternOf(secret: string): string {
  const forms = encodedForms(secret).filter((form) => form === secret || form.length >= shortestSecret);
  return forms.map((form) => [...Buffer.from(form)].map(characterPattern).join('')).join('|');
}

/** One byte of a form: as it is, `%7C`, `\u007c`, `&#124;`, `&#x7c;`, or behind a backslash. */
function characterPattern(byte: number): string {
  const hex = byte.toString(16).padStart(2, '0');
  const anyCase = hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const itself = `\\x${hex}`;
  // A letter behind a backslash would be a control character.
  const plain = /[a-z0-9]/i.test(String.fromCharCode(byte)) ? itself : `\\\\?${itself}`;
  const named = names[byte];
  // The longest first: a `%` or `&` of the secret itself begins its own escape.
  return `(?:%(?:25)?${anyCase}|\\\\u00${anyCase}|&#0*${byte};|&#[xX]0*${anyCase};|${named === undefined ? '' : `${named}|`}${plain})`;
}

/** What HTML, and forms, write for some characters besides. */
const names: Readonly<Record<number, string>> = {
  0x20: '\\+',
  0x22: '&quot;',
  0x26: '&amp;',
  0x27: '&apos;',
  0x3c: '&lt;',
  0x3e: '&gt;',
};
