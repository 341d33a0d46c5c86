import type { StoredRow } from './stored-rows.js';

/** Rows that follow a place. */
export interface RowsAhead {
  readonly rows: readonly StoredRow[];
  /** Whether none come behind them. */
  readonly ended: boolean;
}

/**
 * Rows that were read with a page and are likely to be asked for next: finding a page costs the same as finding ten that
 * follow each other. What isn't asked for goes when there is no room.
 */
export class ReadAhead {
  readonly #room: number;
  /** By question and place, the oldest first. */
  readonly #kept = new Map<string, RowsAhead & { readonly size: number }>();
  #taken = 0;

  /** `room`: characters of `raw` that may be kept. */
  constructor(room: number) {
    this.#room = room;
  }

  /** Hands out what is kept for a place: it is kept for the next place from then on. */
  take(name: string): RowsAhead | undefined {
    const found = this.#kept.get(name);
    if (found === undefined) return undefined;
    this.#kept.delete(name);
    this.#taken -= found.size;
    return found;
  }

  keep(name: string, ahead: RowsAhead): void {
    this.take(name);
    const size = ahead.rows.reduce((sum, { raw }) => sum + raw.length, 0);
    this.#kept.set(name, { ...ahead, size });
    this.#taken += size;
    for (const oldest of this.#kept.keys()) {
      if (this.#taken <= this.#room) break;
      this.take(oldest);
    }
  }
}
