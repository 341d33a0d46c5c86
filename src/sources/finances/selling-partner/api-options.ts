/** Where the finances are, and what they allow. */
export interface FinancesApiOptions {
  /** Base address; a path in it comes before that of the operations. */
  readonly endpoint: URL | string;
  /** Of each operation, as long as the service names no other rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number | undefined } | undefined;
  /** How long a NextToken is accepted. */
  readonly cursorLifeMs: number;
}
