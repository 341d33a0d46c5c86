import { setImmediate } from 'node:timers/promises';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import { scanPage, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { excerpt, isHtml } from '../../engine/retry/excerpt.js';
import { Tape } from '../../core/json/tape.js';
import { type Input, inflated } from './input-bytes.js';
import { linesOf, longestLine } from './lines.js';

/** A saved body, scanned: valid until the next one is asked for, and so are its bytes. */
export interface SavedPage {
  readonly page: ScannedPage;
  readonly line: number;
  readonly bytes: number;
}

/** BROKEN_LINE: a line that is no body of the service, by file and number. */
export function brokenLine(file: string, line: number, found: string): LedgerlakeError {
  return new LedgerlakeError('BROKEN_LINE', `${file}, line ${line}: ${found}`);
}

/**
 * The bodies that an input holds, one a line, in order.
 *
 * @param broken told of a line that is no body of the service; what it throws ends the reading
 * @throws LedgerlakeError BROKEN_LINE where gzip is damaged or cut off: what follows can't be told then
 */
export async function* savedPages(
  input: Input,
  broken: (line: number, found: string) => void,
  signal: AbortSignal,
): AsyncGenerator<SavedPage, void> {
  const tape = new Tape();
  let last = 0;
  const chunks = readable(input, () => last + 1, signal);
  for await (const { number, bytes } of linesOf(chunks)) {
    last = number;
    if (bytes === undefined) {
      broken(number, `expected a response body, found a line of more than ${longestLine / 1024 / 1024} MB`);
      continue;
    }
    let page: ScannedPage;
    try {
      page = scanPage(bytes, tape);
    } catch (error) {
      if (!(error instanceof LedgerlakeError)) throw error;
      broken(number, isHtml(bytes) ? webPage(bytes) : error.message);
      continue;
    }
    yield { page, line: number, bytes: bytes.length };
  }
}

async function* readable(input: Input, line: () => number, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of inflated(input.open())) {
      // Blank lines give no page at which anybody would look for it.
      await setImmediate();
      signal.throwIfAborted();
      yield chunk;
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!code.startsWith('Z_')) throw error;
    const what = code === 'Z_BUF_ERROR' ? 'is cut off' : `is damaged (${messageOf(error)})`;
    const found = `the gzip file ${what} here or behind it; fetch it again, or save what \`gzip -dc\` still gives`;
    throw brokenLine(input.name, line(), found);
  }
}

function webPage(bytes: Buffer): string {
  return `expected a body with a "payload" object, found a web page (HTML): ${excerpt(bytes.toString('utf8', 0, 400))}`;
}
