import { LedgerlakeError } from '../../../core/errors.js';
import { orderSource, type RowSource } from './slice-rows.js';

/** A page with what it answers: the pages of one source follow each other. */
export interface AnsweredPage<Page> {
  /** Undefined where the service doesn't know the source. */
  readonly page: Page | undefined;
  readonly source: RowSource;
}

/** Pages with what they answer. */
export async function* answering<Page>(
  source: RowSource,
  pages: AsyncIterable<Page>,
): AsyncGenerator<AnsweredPage<Page>> {
  for await (const page of pages) yield { page, source };
}

/** The pages of several orders, one order after the other; `pagesOf` reads those of one. */
export async function* orderPages<Page>(
  orders: readonly string[],
  pagesOf: (order: string) => AsyncIterable<Page>,
): AsyncGenerator<AnsweredPage<Page>> {
  for (const order of orders) {
    const source = orderSource(order);
    try {
      yield* answering(source, pagesOf(order));
    } catch (error) {
      // One id that the service doesn't know, mistyped perhaps, is no reason to leave out the others.
      if (!(error instanceof LedgerlakeError) || error.status !== 404) throw error;
      yield { page: undefined, source };
    }
  }
}
