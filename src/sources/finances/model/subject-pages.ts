import { LedgerlakeError } from '../../../core/errors.js';
import { orderSubject, type Subject } from './slice-rows.js';

/** A page with its subject. The pages of one subject are consecutive. */
export interface SubjectPage<Page> {
  /** Undefined where the service doesn't know the subject. */
  readonly page: Page | undefined;
  readonly subject: Subject;
}

/** Adds the subject to pages. */
export async function* withSubject<Page>(
  subject: Subject,
  pages: AsyncIterable<Page>,
): AsyncGenerator<SubjectPage<Page>> {
  for await (const page of pages) yield { page, subject };
}

/** The pages of several orders, one order after the other; `pagesOf` reads those of one. */
export async function* orderPages<Page>(
  orders: readonly string[],
  pagesOf: (order: string) => AsyncIterable<Page>,
): AsyncGenerator<SubjectPage<Page>> {
  for (const order of orders) {
    const subject = orderSubject(order);
    try {
      yield* withSubject(subject, pagesOf(order));
    } catch (error) {
      // An unknown order id, perhaps mistyped, doesn't stop the others.
      if (!(error instanceof LedgerlakeError) || error.status !== 404) throw error;
      yield { page: undefined, subject };
    }
  }
}
