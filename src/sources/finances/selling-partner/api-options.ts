/** Address and limits of the Finances APIs. */
export interface FinancesApiOptions {
  /** Base address; its path precedes that of the operations. */
  readonly endpoint: URL | string;
  /** Of each operation, until the service states another rate; undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number | undefined } | undefined;
  /** How long a NextToken is accepted. */
  readonly cursorLifeMs: number;
}
