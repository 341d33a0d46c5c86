/** What was received, in order: the number of each thing's page, and its own date where it has one, in microseconds. */
export interface Received {
  readonly length: number;
  page(row: number): number;
  date(row: number): bigint | undefined;
}

export interface EffectiveDates {
  /** Microseconds since 1970, by row; undefined only where nothing has a date. */
  readonly instants: readonly (bigint | undefined)[];
  /** The latest date of the last page that has one. */
  readonly last: bigint | undefined;
}

/**
 * When things happened that came page by page: at their own date. What has none stands at the earliest date of its page,
 * else at the latest of the nearest page before it that has one, else at the earliest of the nearest page behind it. As in
 * a slice that was read (`effectiveInstants`), but for saved pages being of any order: there the latest date of all pages
 * before is that of the nearest one.
 *
 * @param before the latest date of the nearest page before the first, where there is one
 */
export function datesByPage(received: Received, before: bigint | undefined): EffectiveDates {
  const { length } = received;
  const earliest = new Map<number, bigint>();
  const latest = new Map<number, bigint>();
  for (let row = 0; row < length; row++) {
    const date = received.date(row);
    if (date === undefined) continue;
    const page = received.page(row);
    const [low, high] = [earliest.get(page), latest.get(page)];
    if (low === undefined || date < low) earliest.set(page, date);
    if (high === undefined || date > high) latest.set(page, date);
  }
  const instants: (bigint | undefined)[] = [];
  let nearest = before ?? earliest.values().next().value;
  let last = before;
  for (let row = 0; row < length; row++) {
    const page = received.page(row);
    if (row > 0 && page !== received.page(row - 1)) nearest = last ?? nearest;
    instants.push(received.date(row) ?? earliest.get(page) ?? nearest);
    last = latest.get(page) ?? last;
  }
  return { instants, last };
}
