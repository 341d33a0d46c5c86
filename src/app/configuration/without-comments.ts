import { createScanner } from 'jsonc-parser';
import { LedgerlakeError } from '../../core/errors.js';

/**
 * The text of a configuration with blanks for its comments (of both kinds that JavaScript has), so that lines and columns
 * stay where they are. What isn't UTF-8 is returned as it is: the scanner reports what is wrong with it. Throws a
 * LedgerlakeError JSON_SYNTAX with the byte offset of a comment that has no end, as it hides all that is behind it
 */
export function withoutComments(bytes: Uint8Array): Uint8Array {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes;
  }
  // Not the package's `stripComments`: its blanks are one too many for each comment.
  const scanner = createScanner(text);
  let stripped = '';
  let kept = 0;
  for (;;) {
    scanner.scan();
    const start = scanner.getTokenOffset();
    const end = start + scanner.getTokenLength();
    // Only the end of the text is a token without a length.
    if (start === end) break;
    // No other token begins like this.
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
