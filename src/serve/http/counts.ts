import type { OperationName as TransactionOperation } from '../../sources/finances/api-2024-06-19/operations.js';
import type { OperationName as EventOperation } from '../../sources/finances/api-v0/operations.js';

/** An operation that the service has. */
export type OperationName = EventOperation | TransactionOperation;

/** An operation, the sign-in, or `none` for a path that is neither. */
export type Counted = OperationName | 'SignIn' | 'none';

/** What a running service has seen since it started. */
export type Counts = Pick<Tally, 'requests' | 'faults' | 'underWay' | 'peak'>;

/** Counts that go up. */
export class Tally {
  readonly #requests = new Map<Counted, Map<number, number>>();
  readonly #faults = new Map<string, number>();
  #underWay = 0;
  #peak = 0;

  /** Requests under way now. */
  get underWay(): number {
    return this.#underWay;
  }

  /** The most that were under way at once. */
  get peak(): number {
    return this.#peak;
  }

  /** Requests by operation and status; left out: any. Status 0: the connection was closed or left without an answer. */
  requests(operation?: Counted, status?: number): number {
    let sum = 0;
    for (const [name, statuses] of this.#requests) {
      if (operation !== undefined && name !== operation) continue;
      for (const [code, count] of statuses) if (status === undefined || code === status) sum += count;
    }
    return sum;
  }

  /** Requests, or events and groups, that a fault hit; left out: any. */
  faults(kind?: string): number {
    if (kind !== undefined) return this.#faults.get(kind) ?? 0;
    return [...this.#faults.values()].reduce((sum, count) => sum + count, 0);
  }

  begin(): void {
    this.#underWay += 1;
    this.#peak = Math.max(this.#peak, this.#underWay);
  }

  end(): void {
    this.#underWay -= 1;
  }

  /** A request that was refused before anybody was asked for an answer. */
  refused(status: number): void {
    this.answered('none', status);
  }

  answered(operation: Counted, status: number): void {
    const statuses = this.#requests.get(operation) ?? new Map<number, number>();
    this.#requests.set(operation, statuses.set(status, (statuses.get(status) ?? 0) + 1));
  }

  hit(kind: string): void {
    this.#faults.set(kind, this.faults(kind) + 1);
  }
}
