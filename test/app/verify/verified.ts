import { resultOf } from '../ended.js';
import { verify } from '../../../src/app/verify/verify.js';
import type { Clock } from '../../../src/core/clock.js';
import type { Check, Problem } from '../../../src/app/results.js';
import { Kept } from '../../core/text/streams.js';

export interface Verified {
  readonly code: number;
  readonly verdict: string;
  readonly catalog: { readonly version: number; readonly hash: string } | null;
  readonly checks: readonly Check[];
  readonly problems: readonly Problem[];
}

/** What `ledgerlake verify --format json` says of a lake, and its exit code. */
export async function verified(
  lake: { root: string; clock: Clock },
  strict = false,
  expect?: string,
): Promise<Verified> {
  const output = new Kept();
  const context = { clock: lake.clock, signal: new AbortController().signal, output, emit: () => undefined };
  const { exitCode: code = 0 } = await resultOf(verify({ lake: lake.root, format: 'json', strict, expect }, context));
  return { code, ...(JSON.parse(output.text) as Omit<Verified, 'code'>) };
}

/** The checks that found something, each with what it found. */
export function found({ checks }: Verified): string[] {
  return checks
    .filter(({ result }) => result !== 'ok' && result !== 'none')
    .map(({ check, result }) => `${check} ${result}`);
}
