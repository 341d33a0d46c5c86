import { count } from '../../core/count.js';
import type { OperationName } from '../../sources/finances/finances-apis.js';

/** The key of request counts: an operation, the sign-in, the download of a document, or `none` for any other path. */
export type CountKey = OperationName | 'SignIn' | 'Download' | 'none';

/** Counts of a running server since it started. */
export type Counts = Readonly<Pick<RequestTally, 'requests' | 'faults' | 'underWay' | 'peak'>>;

/** Counts requests, answers and faults of a server. */
export class RequestTally {
  readonly #requests = new Map<CountKey, Map<number, number>>();
  readonly #faults = new Map<string, number>();
  /** Number of requests under way. */
  underWay = 0;
  /** Largest number of requests that were under way at once. */
  peak = 0;

  /**
   * Number of requests with the operation and status; left out: any. Status 0: the connection was closed, or the client
   * left, without an answer.
   */
  requests(operation?: CountKey, status?: number): number {
    let sum = 0;
    for (const [name, statuses] of this.#requests) {
      if (operation !== undefined && name !== operation) continue;
      for (const [code, count] of statuses) if (status === undefined || code === status) sum += count;
    }
    return sum;
  }

  /** Number of requests, events and groups that a fault of the kind hit; left out: of any kind. */
  faults(kind?: string): number {
    if (kind !== undefined) return this.#faults.get(kind) ?? 0;
    return [...this.#faults.values()].reduce((sum, count) => sum + count, 0);
  }

  begin(): void {
    this.underWay += 1;
    this.peak = Math.max(this.peak, this.underWay);
  }

  end(): void {
    this.underWay -= 1;
  }

  /** Counts a request that the HTTP server refuses before it is handled. */
  refused(status: number): void {
    this.answered('none', status);
  }

  answered(operation: CountKey, status: number): void {
    const statuses = this.#requests.get(operation) ?? new Map<number, number>();
    count(statuses, status);
    this.#requests.set(operation, statuses);
  }

  /** Counts a hit of a fault. */
  hit(kind: string): void {
    this.#faults.set(kind, this.faults(kind) + 1);
  }
}
