import { usageError } from '../../core/errors.js';
import { checkFaults, type Faults, type FaultSettings } from './fault-settings.js';
import { faultKinds, isFaultKind } from './fault-rules.js';

const decimal = String.raw`\d{1,15}(?:\.\d{1,15})?`;
const shape = new RegExp(`^(?<kind>[a-z-]+)(?::(?<amount>${decimal}))?(?:=(?<share>${decimal}))?$`);

function wrong(came: string, why: string): Error {
  return usageError(
    `expected --faults to be a list of KIND, KIND=SHARE or KIND:N=SHARE with commas between, got ` +
      `${JSON.stringify(came.slice(0, 80))} (${why}); the kinds are ${[...faultKinds, 'all'].join(', ')}`,
  );
}

/**
 * Reads the text form of faults: `throttled=0.05,window-limit:7,all=0.1`. A share is from 0 to 1, an amount comes after
 * a colon, and what is left out is the kind's own. Throws a USAGE error for anything else.
 */
export function parseFaults(text: string): Faults {
  const faults: Record<string, FaultSettings> = {};
  for (const part of text.split(',').map((piece) => piece.trim())) {
    const { kind, amount, share } = shape.exec(part)?.groups ?? {};
    if (kind === undefined) throw wrong(part, 'not of that form');
    if (kind !== 'all' && !isFaultKind(kind)) throw wrong(part, 'no such kind');
    if (Object.hasOwn(faults, kind)) throw wrong(part, 'given twice');
    if (kind === 'all' && share === undefined) throw wrong(part, 'all needs a share');
    faults[kind] = {
      ...(amount !== undefined && { amount: Number(amount) }),
      ...(share !== undefined && { share: Number(share) }),
    };
    try {
      checkFaults({ [kind]: faults[kind] });
    } catch (error) {
      throw wrong(part, error instanceof Error ? error.message : String(error));
    }
  }
  return faults;
}
