import { createScanner } from 'jsonc-parser';
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
