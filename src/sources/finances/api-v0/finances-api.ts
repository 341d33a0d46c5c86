import type { Pace, Reading } from '../../../engine/run/pipeline.js';
import type { Slice } from '../../../engine/run/slice.js';
import type { Definition } from '../../../engine/slicing/slicing.js';
import type { Window } from '../../../core/windows.js';
import type { LargeGroups } from './large-groups.js';
import type { OperationName } from './operations.js';
import type { ScannedPage } from './finances-page.js';
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
  /** How fast an operation can be asked; undefined: as fast as it answers. */
  pace(operation: OperationName): Pace | undefined;
  /** Settlements that were found to be too large to be read; left out: nobody keeps them in mind. */
  readonly largeGroups?: LargeGroups | undefined;
  /** The windows of an operation that a run which was stopped had begun to read, as far as it can be gone on with. */
  begun(operation: OperationName): readonly Window[];
}

/** A pipeline that reads the service; see `pipelines/`. */
export type FinancesPipeline<S extends Slice = Slice, Page = unknown> = Definition<FinancesUpstream, S, Page>;
