import { LedgerlakeError } from '../../../core/errors.js';
import { orderSource, type RowSource } from './slice-rows.js';

/** A page with its source. The pages of one source are consecutive. */
export interface SourcePage<Page> {
  /** Undefined where the service doesn't know the source. */
  readonly page: Page | undefined;
  readonly source: RowSource;
}

/** Adds the source to pages. */
export async function* withSource<Page>(
  source: RowSource,
  pages: AsyncIterable<Page>,
): AsyncGenerator<SourcePage<Page>> {
  for await (const page of pages) yield { page, source };
}

/** The pages of several orders, one order after the other; `pagesOf` reads those of one. */
export async function* orderPages<Page>(
  orders: readonly string[],
  pagesOf: (order: string) => AsyncIterable<Page>,
): AsyncGenerator<SourcePage<Page>> {
  for (const order of orders) {
    const source = orderSource(order);
    try {
      yield* withSource(source, pagesOf(order));
    } catch (error) {
      // An unknown order id, perhaps mistyped, doesn't stop the others.
      if (!(error instanceof LedgerlakeError) || error.status !== 404) throw error;
      yield { page: undefined, source };
    }
  }
}
