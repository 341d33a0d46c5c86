import type { Reading } from '../run/pipeline.js';
import type { OperationName } from './operations.js';
import type { ScannedPage } from './page.js';
import type { RequestParameters } from './request-path.js';

/** The service as pipelines see it. */
export interface FinancesUpstream {
  /**
   * The pages of one question in order, through empty ones too, until there is no token.
   *
   * @throws LedgerlakeError with what the service, the network or the page has against it
   */
  pages(
    operation: OperationName,
    parameters: RequestParameters,
    reading: Reading<FinancesUpstream>,
  ): AsyncIterable<ScannedPage>;
}
