import { LedgerlakeError } from '../../src/core/errors.js';
import { kind, type Tape } from '../../src/core/json/tape.js';

/** The value that a node of the tape stands for, as JSON.parse would give it. */
export function tapeValue(tape: Tape, node: number): unknown {
  switch (tape.kind(node)) {
    case kind.object: {
      tape.shadowKeys(node);
      const value: Record<string, unknown> = {};
      for (const key of tape.keys(node)) {
        // Defined, not assigned: `__proto__` is a key like any other.
        Object.defineProperty(value, tape.stringValue(key), {
          value: tapeValue(tape, key + 1),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      }
      return value;
    }
    case kind.array: {
      const items: unknown[] = [];
      for (let at = node + 1; at < tape.next(node); at = tape.next(at)) items.push(tapeValue(tape, at));
      return items;
    }
    case kind.string:
    case kind.escaped:
      return tape.stringValue(node);
    case kind.number:
      return Number(tape.text(node));
    default:
      return JSON.parse(tape.text(node));
  }
}

/** JSON.parse's value with lone surrogates replaced, as UTF-8 has none. */
export function parsedText(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value));
}

export function outcome(read: () => unknown): { value: unknown } | 'refused' {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof SyntaxError) return 'refused';
    if (error instanceof LedgerlakeError && error.code === 'JSON_SYNTAX') return 'refused';
    throw error;
  }
}

/** Keys too may hold lone surrogates; two that differ only by them are one once they are replaced. */
export function hasLoneSurrogateInKey(text: string): boolean {
  let found = false;
  JSON.parse(text, (key, value: unknown) => {
    found ||= !key.isWellFormed();
    return value;
  });
  return found;
}

/** The text of bytes, which have to be UTF-8 without a byte order mark, as JSON.parse reads it. */
function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SyntaxError('not UTF-8');
  }
}

/** JSON.parse's value of bytes, with lone surrogates replaced. */
export function parsedBytes(bytes: Uint8Array): unknown {
  return parsedText(decoded(bytes));
}

/** Whether JSON.parse accepts bytes; its values are not built, so that nesting has no limit. */
export function isJson(bytes: Uint8Array): boolean {
  return outcome(() => JSON.parse(decoded(bytes)) as unknown) !== 'refused';
}
