/** A row of the simulation's tables. */
export interface Row {
  /** The load key. */
  readonly k: string;
  readonly day: number;
  /** Its content. */
  readonly c: string;
  /** Of `event_history`: what became of it. */
  readonly change?: string;
}

export const main = 'events';
export const derived = 'entries';
export const history = 'event_history';
export const tableNames = [derived, main, history];

/** What of a row is compared: by the load key it is read with, or by what its history says. */
export function textOf({ k, day, c, change }: Row): string {
  return `${change ?? k} ${day} ${c}`;
}

/** Those of the texts that the others don't have, each as often as it is missing. */
export function difference(texts: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of others) counts.set(text, (counts.get(text) ?? 0) + 1);
  return texts.filter((text) => {
    const count = counts.get(text) ?? 0;
    if (count > 0) counts.set(text, count - 1);
    return count === 0;
  });
}

/** Two entries for each event. */
export function entriesOf(events: readonly Row[]): Row[] {
  return events.flatMap((row) => [row, row]);
}

export function encodeRows(rows: readonly Row[]): Uint8Array {
  return Buffer.from(JSON.stringify(rows));
}

export function decodeRows(bytes: Uint8Array): Row[] {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as Row[];
}
