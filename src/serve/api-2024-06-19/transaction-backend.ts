import type { BackendPage, BackendQuery } from '../operation/backend-page.js';
import type { Window } from '../../core/windows.js';

/** A selection of transactions; an undefined member doesn't restrict it. */
export interface TransactionQuestion {
  /** Range of posting instants. */
  readonly range: Window;
  /** `DEFERRED`, `RELEASED` or `DEFERRED_RELEASED`. */
  readonly status: string | undefined;
  /** Transactions of this marketplace, and those of none. */
  readonly marketplaceId: string | undefined;
  readonly orderId: string | undefined;
  readonly groupId: string | undefined;
}

/** A selection of settlement accounts: each marketplace has one of each type. */
interface AccountQuestion {
  readonly marketplaceIds: readonly string[] | undefined;
  readonly accountType: string | undefined;
}

/** A selection of summaries: those of one settlement, or one for each account over a range of days. */
export interface SummaryQuestion extends AccountQuestion {
  readonly settlementId: string | undefined;
  /** UTC days since 1970-01-01, both included; without `last` up to now. */
  readonly days: { readonly first: number; readonly last: number | undefined } | undefined;
}

export interface PayoutQuestion extends AccountQuestion {
  /** Range of creation instants. */
  readonly range: Window;
  readonly payoutId: string | undefined;
}

/**
 * A backend's transactions, summaries and payouts (`transaction-operations.ts`). Each item appears exactly once in the pages of
 * a question; a page may be empty without being the last one. An unknown id has no items.
 */
export interface TransactionBackend {
  /** Transactions in no particular order. */
  transactions(question: TransactionQuestion, query: BackendQuery): Promise<BackendPage>;
  summaries(question: SummaryQuestion, query: BackendQuery): Promise<BackendPage>;
  /** Payouts, newest first. */
  payouts(question: PayoutQuestion, query: BackendQuery): Promise<BackendPage>;
}

/** A backend that may have transactions. */
export interface WithTransactionBackend {
  /** Undefined: no transactions, as for an account that the newer API answers with nothing. */
  readonly byTransaction?: TransactionBackend | undefined;
}
