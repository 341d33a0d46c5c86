import { excerpt } from '../retry/excerpt.js';
import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import { TokenBucket } from './token-bucket.js';
import type { KeptQuota } from './kept-quota.js';
import { RequestQueue } from './request-queue.js';

export interface PacedQueueOptions {
  /** Of the operation: its bucket is kept and told of by it. */
  readonly name: string;
  /** Undefined: not throttled. */
  readonly quota: { readonly rate: number; readonly burst: number } | undefined;
  readonly clock: Clock;
  /** How long a cursor is accepted: nobody waits for that long. */
  readonly cursorLifeMs: number;
  /** What the bucket held when the last run ended, and where this one's is kept. */
  readonly kept: KeptQuota | undefined;
  /** Takes what becomes of the bucket; undefined: nobody listens. */
  readonly emit: Emit | undefined;
}

/** Requests of one operation under way at once: as many as slices are open at the most. */
const concurrency = 20;

/** Seconds by which a request may overtake the one before it on its way, and tokens that this costs at the most. */
const overtaking = { seconds: 0.6, tokens: 3 };

/** The queue of an operation's requests, with a bucket that is kept between runs. */
export function pacedQueue({ name, quota, clock, cursorLifeMs, kept, emit }: PacedQueueOptions): RequestQueue {
  if (quota === undefined) return new RequestQueue({ concurrency });
  const bucket: TokenBucket = new TokenBucket({
    ...quota,
    clock,
    reserve: Math.min(overtaking.tokens, overtaking.seconds * quota.rate),
    state: kept?.stateOf(name),
    changed: () => {
      kept?.keep(name, bucket.state);
      const { rate, burst } = bucket;
      const nextTokenSeconds = (bucket.nextTokenAt() - clock.now()) / 1000;
      const state = { rate, burst, tokens: bucket.level(), nextTokenSeconds: Math.max(0, nextTokenSeconds) };
      emit?.({ event: 'bucket-changed', operation: name, ...state });
    },
  });
  const onUnfitRate = (named: string, rate: number): void => {
    emit?.({ event: 'rate-unfit', operation: name, named: excerpt(named, 40), rate });
  };
  return new RequestQueue({ concurrency, bucket, patience: { ms: cursorLifeMs / 4, clock }, onUnfitRate });
}
