import { repair } from '../../../src/app/repair/repair.js';
import type { Clock } from '../../../src/core/clock.js';

export interface Repaired {
  readonly code: 0 | 1;
  /** What was printed. */
  readonly text: string;
  readonly summary: Readonly<Record<string, unknown>>;
}

/** Repairs a lake; without `yes` it only says what is to be repaired. */
export async function repaired(
  { root, clock }: { readonly root: string; readonly clock: Clock },
  yes = true,
): Promise<Repaired> {
  const printed: string[] = [];
  const {
    text,
    summary,
    exitCode = 0,
  } = await repair(
    { lake: root, yes },
    {
      clock,
      signal: new AbortController().signal,
      emit: () => undefined,
      confirm: undefined,
      print: (text) => printed.push(text),
    },
  );
  if (text !== '') printed.push(text);
  return { code: exitCode, text: printed.join('\n'), summary: { ...summary } };
}
