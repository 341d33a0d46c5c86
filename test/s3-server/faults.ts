/** A request as faults choose by it. */
export interface S3Call {
  /** As the SDK names it: `PutObject`. */
  readonly operation: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly query?: URLSearchParams;
}

/** What goes wrong with a request. */
export type Fault =
  /** It is answered with an error, and nothing is done. */
  | { readonly kind: 'refuse'; readonly status: number; readonly code: string }
  /** It is done, and answered with an error. */
  | { readonly kind: 'refuse after'; readonly status: number; readonly code: string }
  /** The connection is closed before anything is done. */
  | { readonly kind: 'close' }
  /** It is done, and the connection is closed instead of an answer. */
  | { readonly kind: 'close after' }
  /** The connection is closed in the middle of the answer's body. */
  | { readonly kind: 'cut' }
  /** It is done once the promise resolves. */
  | { readonly kind: 'wait'; readonly until: Promise<void> }
  /** Something else happens first, as if another request had been faster. */
  | { readonly kind: 'first'; readonly run: () => void };

/** Faults in the order in which they are to happen; each happens once. */
export class Faults {
  readonly #waiting: { readonly fault: Fault; readonly on: (call: S3Call) => boolean }[] = [];

  /** The next request of this operation fails; with `times` that many do. */
  next(operation: string, fault: Fault, times = 1): void {
    for (let count = 0; count < times; count++) {
      this.#waiting.push({ fault, on: (call) => call.operation === operation });
    }
  }

  /** How many have not happened yet. */
  get left(): number {
    return this.#waiting.length;
  }

  /** Takes the fault that is meant for a request. */
  take(call: S3Call): Fault | undefined {
    const at = this.#waiting.findIndex(({ on }) => on(call));
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0]?.fault;
  }
}
