import type { Clock } from '../core/clock.js';
import { isoInstant } from '../core/numeric/instant.js';

/** The summary for programs of a run that begins now, should it fail before it has read anything; null: not known by then. */
export function provisionalSummary(
  { account, lake, from, to }: { account: string; lake: string; from: number | null; to: number | null },
  clock: Clock,
): () => Readonly<Record<string, unknown>> {
  const began = clock.now();
  const textOf = (instant: number | null) => (instant === null ? null : isoInstant(instant));
  return () => ({
    account,
    lake,
    from: textOf(from),
    to: textOf(to),
    seconds: (clock.now() - began) / 1000,
    pipelines: {},
  });
}
