import { Chain, type ChainOptions, type Question } from '../../../engine/paging/paginator.js';
import { usageError } from '../../../core/errors.js';
import { limits, operations, type Operation } from './operations.js';
import type { ScannedPage } from './finances-page.js';
import { ReadFailure } from '../../../engine/retry/read-failure.js';

/** A token must last until its request has had its turn. */
const tokenMarginMs = 30_000;

/**
 * The pages of one question in order, through empty ones too, until one has no token (specification, section 4, common
 * rule 2). Every result is in them once, whatever happens on the way: a page that is too large is asked for in smaller
 * ones, and where a token has expired the place is found again (`alignment.ts`).
 *
 * @throws ReadFailure, with the number of pages that came before: what the requests fail with; `token-expired` where the
 *   place can't be found again for certain; `loop` when a token comes round again, before it is asked for again, or when
 *   more than 1,000 pages in a row are empty; `mistake`, before anything is asked, for dates more than 180 days apart,
 *   because the service answers those with nothing (section 8). The signal's reason when it aborts. What `onPage` throws.
 */
export async function* readChain(question: Question, options: ChainOptions): AsyncGenerator<ScannedPage, void> {
  const { clock, resume = [], tokenLifeMs = 180_000 } = options;
  refuseLongSpan(question, clock.now());
  const chain = new Chain(question, options);
  for (const known of resume) chain.take(known);
  const last = resume.at(-1);
  // Before the known pages are handed on: where the place is lost, they will be read again anyway.
  if (last !== undefined && clock.now() - last.receivedAt > tokenLifeMs - tokenMarginMs) await chain.findPlace();
  for (const { page } of resume) yield page;
  for (let page = await chain.next(); page !== undefined; page = await chain.next()) yield page;
}

/** What the service answers with an empty page must never be asked: it would look like success. */
function refuseLongSpan({ operation, parameters }: Question, now: number): void {
  const { range }: Operation = operations[operation];
  const after = range === undefined ? undefined : parameters[range.after];
  const before = range === undefined ? undefined : (parameters[range.before] ?? now - limits.marginMs);
  if (typeof after !== 'number' || typeof before !== 'number' || before - after <= limits.maxSpanMs) return;
  const days = Math.ceil((before - after) / 86_400_000);
  const { code, message } = usageError(
    `Expected dates of ${operation} that are at most 180 days apart, got ${days} days: the service gives nothing for them. Please ask in parts.`,
  );
  throw new ReadFailure('mistake', code, message);
}
