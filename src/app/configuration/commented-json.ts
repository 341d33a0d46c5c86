import { createScanner, findNodeAtLocation, parseTree, type Node } from 'jsonc-parser';
import { LedgerlakeError } from '../../core/errors.js';

/**
 * Replaces the comments of a configuration (both kinds of JavaScript) with blanks, so that lines and columns stay the same. Bytes that
 * aren't UTF-8 are returned unchanged, because the scanner reports them.
 *
 * @throws LedgerlakeError JSON_SYNTAX with the byte offset of a comment without an end
 */
export function withoutComments(bytes: Uint8Array): Uint8Array {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes;
  }
  // The package's `stripComments` adds one blank too many for each comment.
  const scanner = createScanner(text);
  let stripped = '';
  let kept = 0;
  for (;;) {
    scanner.scan();
    const start = scanner.getTokenOffset();
    const end = start + scanner.getTokenLength();
    // Only the token of the end of the text has no length.
    if (start === end) break;
    // Only comments begin with `//` or `/*`.
    const comment = text.slice(start, end);
    if (!/^\/[/*]/.test(comment)) continue;
    if (comment.startsWith('/*') && !/^.{2}.*\*\/$/s.test(comment)) {
      const at = Buffer.byteLength(text.slice(0, start));
      throw new LedgerlakeError('JSON_SYNTAX', `expected */ for the comment at byte ${at}, found the end`);
    }
    stripped += text.slice(kept, start) + comment.replaceAll(/[^\r\n]/g, ' ');
    kept = end;
  }
  return new TextEncoder().encode(stripped + text.slice(kept));
}

/**
 * Adds a member to an object of a commented JSON text, behind the others and indented as they are. All else stays as it is, byte
 * for byte: the comma follows the last value, and a comment behind that stays in its line.
 *
 * @param parent the member of the text's object that has the object; it is added where it is missing
 */
export function withMember(text: string, parent: string, name: string, value: unknown): string | undefined {
  const root = parseTree(text);
  if (root?.type !== 'object') return undefined;
  const found = findNodeAtLocation(root, [parent]);
  if (found === undefined) return insertedIn(text, root, parent, { [name]: value });
  return found.type === 'object' ? insertedIn(text, found, name, value) : undefined;
}

/** Comments behind a value, up to the end of its line. */
const restOfLine = /^[ \t]*(?:\/\*(?:(?!\*\/)[^\r\n])*\*\/[ \t]*)*(?:\/\/[^\r\n]*)?(?=\r?\n)/;

function insertedIn(text: string, { offset, children = [] }: Node, name: string, value: unknown): string {
  const form = { end: text.includes('\r\n') ? '\r\n' : '\n', unit: /^[ \t]+(?=\S)/m.exec(text)?.[0] ?? '  ' };
  const { end, unit } = form;
  const key = `${JSON.stringify(name)}: `;
  const last = children.at(-1);
  if (last === undefined) {
    const at = offset + 1;
    const outer = /^[ \t]*/.exec(lineBefore(text, offset))?.[0] ?? '';
    const closing = /^[ \t]*\r?\n/.test(text.slice(at)) ? '' : end + outer;
    const member = key + jsonText(value, outer + unit, form);
    return `${text.slice(0, at)}${end}${outer}${unit}${member}${closing}${text.slice(at)}`;
  }
  const valueEnd = last.offset + last.length;
  const indent = lineBefore(text, last.offset);
  if (!/^[ \t]*$/.test(indent)) return `${text.slice(0, valueEnd)}, ${key}${jsonLine(value)}${text.slice(valueEnd)}`;
  const rest = restOfLine.exec(text.slice(valueEnd))?.[0] ?? '';
  const member = key + jsonText(value, indent, form);
  return `${text.slice(0, valueEnd)},${rest}${end}${indent}${member}${text.slice(valueEnd + rest.length)}`;
}

/** What a line has before an offset. */
function lineBefore(text: string, offset: number): string {
  return text.slice(Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1, offset);
}

/** JSON in lines, but for objects without objects in them. */
function jsonText(value: unknown, indent: string, form: { readonly end: string; readonly unit: string }): string {
  if (!isObject(value) || !Object.values(value).some(isObject)) return jsonLine(value);
  const inner = indent + form.unit;
  const members = Object.entries(value).map(
    ([name, member]) => `${inner}${JSON.stringify(name)}: ${jsonText(member, inner, form)}`,
  );
  return `{${form.end}${members.join(`,${form.end}`)}${form.end}${indent}}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** JSON on one line, as Prettier spaces it. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value, undefined, 1)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/(?<=\[) | (?=\])/g, '');
}
