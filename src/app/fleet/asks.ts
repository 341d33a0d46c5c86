import type { FleetKeys } from './fleet-keys.js';
import type { RedisCommands } from './redis.js';
import type { Work } from './turns.js';

/** What an account is asked to do; a backfill has its range as the user gave it, ISO 8601, or null. */
export type Ask =
  { readonly work: 'sync' } | { readonly work: 'backfill'; readonly from: string | null; readonly to: string | null };

/** One that was asked for, and isn't done. */
export interface OpenAsk {
  readonly ask: Ask;
  /** When it was asked for last. */
  readonly askedAt: number;
}

/** What accounts are asked to do until it is done, whatever becomes of turns and workers in between. */
export interface Asks {
  /** Asks; the same again is one. `now`: milliseconds since 1970. */
  add(account: string, ask: Ask, now: number): Promise<void>;
  /** What isn't done, in the order in which it is to be: syncs first, backfills in the order of asking. */
  of(account: string): Promise<readonly OpenAsk[]>;
  /** It is done. One that was asked for again in the meantime stays. */
  done(account: string, open: OpenAsk): Promise<void>;
}

const deleteIfSame =
  "if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end return 0";

const order: Readonly<Record<Work, number>> = { sync: 0, backfill: 1 };

export function openAsks(redis: RedisCommands, keys: FleetKeys): Asks {
  return {
    add: async (account, ask, now) => {
      await redis.hset(keys.asks(account), JSON.stringify(ask), String(now));
    },
    of: async (account) => {
      const fields = Object.entries(await redis.hgetall(keys.asks(account)));
      return fields
        .map(([text, askedAt]) => ({ ask: readAsk(text), askedAt: Number(askedAt) }))
        .toSorted((a, b) => order[a.ask.work] - order[b.ask.work] || a.askedAt - b.askedAt);
    },
    done: async (account, { ask, askedAt }) => {
      await redis.eval(deleteIfSame, 1, keys.asks(account), JSON.stringify(ask), String(askedAt));
    },
  };
}

/** The protocol's number says that it was written here: anything else is a fault of this program. */
function readAsk(text: string): Ask {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null && 'work' in value) {
    if (value.work === 'sync') return { work: 'sync' };
    if (value.work === 'backfill' && 'from' in value && 'to' in value) {
      return { work: 'backfill', from: textOrNull(value.from), to: textOrNull(value.to) };
    }
  }
  throw new Error(`nobody asks for ${text}`);
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
