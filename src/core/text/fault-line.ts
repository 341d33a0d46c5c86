import type { z } from 'zod';
import { usageError } from '../errors.js';

/** Texts that may be shown: a longer text, or one with other characters, may be a misplaced secret. */
const harmless = /^[\w $./:-]{0,32}$/;

/** Keys whose values are never shown. */
const hidden: ReadonlySet<PropertyKey> = new Set([
  'clientId',
  'clientSecret',
  'refreshToken',
  'endpoint',
  'tokenEndpoint',
  'notify',
  'headers',
  'address',
]);

/** A line on a fault in one field of the configuration: the field, what was expected and what was found. Never a secret. */
export function faultLine(issue: z.core.$ZodIssue, file: unknown): string {
  const where = pathText(issue.path);
  if (issue.code === 'unrecognized_keys') {
    // The schema's message is the list of known keys.
    const known = issue.message.split(' ');
    const [key = ''] = issue.keys;
    const nearest = nearestName(key, known);
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    return `${where}expected no other keys than ${known.join(', ')}, got ${shownName(key)}${hint}`;
  }
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? issue.message;
    return `${pathText(issue.path.slice(0, -1))}expected ${expected}, got ${shownName(String(issue.path.at(-1)))}`;
  }
  const isHidden = issue.path.some((key) => hidden.has(key));
  return `${where}expected ${issue.message}, got ${shown(valueAt(file, issue.path), isHidden)}`;
}

function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${pathName(String(key))}`)).join('');
  return text === '' ? '' : `${text.replace(/^\./, '')}: `;
}

/** A long key may be a secret that was pasted on the wrong side of the colon. */
function pathName(name: string): string {
  return harmless.test(name) ? name : `(a name of ${name.length} characters)`;
}

function shownName(name: string): string {
  return harmless.test(name) ? JSON.stringify(name) : `a name of ${name.length} characters`;
}

function shown(value: unknown, isHidden: boolean): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') {
    if (value === '') return 'an empty text';
    return harmless.test(value) && !isHidden ? JSON.stringify(value) : `a text of ${value.length} characters`;
  }
  return !isHidden && (typeof value === 'number' || typeof value === 'boolean') ? `${value}` : `a ${typeof value}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

/** The USAGE error for an unknown name; `expected`: what the known names are. */
export function unknownName(expected: string, given: string, known: readonly string[]): Error {
  const nearest = nearestName(given, known);
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
  return usageError(`expected ${expected} (${known.join(', ')}), got ${JSON.stringify(given)}${hint}`);
}

/** The known name that is most similar to a mistyped or shortened one; undefined where none is similar. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const wanted = plain(given);
  // A text of this length is no typing error, and the comparison would be slow.
  if (wanted.length > 64) return undefined;
  const [begun, ...others] = names.filter((name) => wanted.length > 1 && plain(name).startsWith(wanted));
  if (begun !== undefined && others.length === 0) return begun;
  const ranked = names
    .map((name) => ({ name, distance: editDistance(wanted, plain(name)) }))
    .toSorted((one, other) => one.distance - other.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined;
}

/** Normalizes a name: `client_id` and `clientId` are equal. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** The number of insertions, deletions, substitutions and transpositions (optimal string alignment distance). */
function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let index = 0; index < one.length; index++) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column++) {
      const isSwapped = one[index] === other[column - 2] && one[index - 1] === other[column - 1];
      const swapped = isSwapped ? (before[column - 2] ?? Infinity) + 1 : Infinity;
      const changed = (row[column - 1] ?? 0) + (other[column - 1] === one[index] ? 0 : 1);
      next.push(Math.min(changed, swapped, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row.at(-1) ?? 0;
}
