import { LedgerlakeError } from '../errors.js';

/**
 * The answers of one question in order, through empty pages too, until one has no token (specification, section 4,
 * common rule 2).
 *
 * @param call asks for the page that a token stands for; the first time for the one of `from`, mostly undefined
 * @param nextTokenOf the token of a page; undefined or empty on the last one
 * @param from the token to begin with, for a chain that was left off midway
 * @throws LedgerlakeError UPSTREAM_BODY when a token comes round again, before it is asked for again: the chain would
 *   never end. And whatever the two functions throw.
 */
export async function* pagesOf<Page>(
  call: (token: string | undefined) => Promise<Page>,
  nextTokenOf: (page: Page) => string | undefined,
  from?: string,
): AsyncGenerator<Page, void, undefined> {
  /** Tokens asked for, each with the number of its page. */
  const asked = new Map<string, number>();
  let token = from;
  for (let number = 1; ; number++) {
    if (token !== undefined) asked.set(token, number);
    const page = await call(token);
    yield page;
    token = nextTokenOf(page);
    if (token === undefined || token === '') return;
    const before = asked.get(token);
    if (before !== undefined) {
      throw new LedgerlakeError(
        'UPSTREAM_BODY',
        `Expected page ${number} to end the list or to lead to a new page, got the token of page ${before} again: ` +
          'the service runs in a circle. Please try again later, or with a shorter range.',
      );
    }
  }
}
