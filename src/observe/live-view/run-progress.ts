import { count } from '../../core/count.js';
import { basename } from 'node:path';
import { dispatch, type Handlers, type RunEvent } from '../../core/events/run-event.js';
import { formatBytes, formatCount, formatSpan } from '../../core/text/amounts.js';
import { printable } from '../../core/printable.js';
import { tokensAt, type BucketLevel } from '../bucket-level.js';
import type { View, ViewRow } from './view-lines.js';

/** The one track of an import, which reads its inputs one after the other. */
const importTrack = 'files';

/** The progress of one pipeline, or of the inputs of an import. */
class Track {
  state: ViewRow['state'] = 'waits';
  pages = 0;
  /** Estimated number of pages left to read; undefined while unknown. */
  pagesLeft: number | undefined;
  /** Bytes processed and, in `allBytes`, the total, where progress is counted in bytes. */
  bytes = 0;
  allBytes: number | undefined;
  files = 0;
  /** Path of the input that is being read. */
  current = '';
  startedAt: number | undefined;
  /** The operation of the last request. */
  operation: string | undefined;
  /** When a failed request is retried; the earliest instant where several are. */
  nextTryAt = 0;
  /** The day from which on everything is loaded up to the end of the range; empty: none yet. */
  completeFrom = '';
  readonly open = new Set<string>();
  readonly retries = new Map<string, number>();
  readonly results = new RecentRate();
  readonly pageRate = new RecentRate();
}

/** The level of a bucket and the instant of its next token, milliseconds since 1970. */
interface Bucket extends BucketLevel {
  readonly nextAt: number;
}

/** Follows the events of a run and computes its live view. Instants are milliseconds since 1970. */
export class RunProgress {
  /** The instant of the event that is being recorded. */
  #now = 0;
  #command = '';
  #subject: string[] = [];
  #startedAt = 0;
  readonly #tracks = new Map<string, Track>();
  readonly #buckets = new Map<string, Bucket>();
  /** Bytes read of each input that hasn't ended: the next input is read while one ends. */
  readonly #inputBytes = new Map<string, number>();

  record(event: RunEvent, now: number): void {
    this.#now = now;
    dispatch(this.#handlers, event);
  }

  readonly #handlers: Handlers<void> = {
    'run-started': ({ command, account, lake, pipelines }) => {
      this.#command = command;
      this.#subject = [...(account === null ? [] : [account]), lake];
      this.#startedAt = this.#now;
      // An import has one track for its inputs, not one for each pipeline.
      if (command !== 'import') for (const pipeline of pipelines) this.#track(pipeline);
    },
    'pipeline-planned': ({ pipeline }) => {
      this.#begin(pipeline);
    },
    'pipeline-ended': ({ pipeline }) => {
      this.#track(pipeline).state = 'done';
    },
    'slice-opened': ({ pipeline, slice, pagesLeft }) => {
      const track = this.#begin(pipeline);
      track.open.add(slice);
      track.pagesLeft = pagesLeft ?? undefined;
    },
    'page-read': ({ pipeline, results, pagesLeft }) => {
      const track = this.#track(pipeline);
      track.pages++;
      track.pagesLeft = pagesLeft ?? undefined;
      track.results.add(results, this.#now);
      track.pageRate.add(1, this.#now);
    },
    'slice-closed': ({ pipeline, slice }) => {
      this.#track(pipeline).open.delete(slice);
    },
    'request-sent': ({ pipeline, operation, cause }) => {
      const track = this.#track(pipeline);
      track.operation = operation;
      if (cause !== null) count(track.retries, cause);
    },
    'request-failed': ({ pipeline, again, waitSeconds }) => {
      const track = this.#track(pipeline);
      const at = this.#now + waitSeconds * 1000;
      if (again && (track.nextTryAt <= this.#now || at < track.nextTryAt)) track.nextTryAt = at;
    },
    'request-answered': ({ pipeline }) => {
      this.#track(pipeline).nextTryAt = 0;
    },
    'watermark-moved': ({ pipeline, from }) => {
      const track = this.#tracks.get(pipeline);
      if (track !== undefined) track.completeFrom = from?.slice(0, '2026-01-01'.length) ?? '';
    },
    'bucket-changed': (event) => {
      const nextAt = this.#now + event.nextTokenSeconds * 1000;
      this.#buckets.set(event.operation, { ...event, at: this.#now, nextAt });
    },
    'files-planned': ({ pipeline, bytes }) => {
      // Pipelines are processed one after the other: the one before is done.
      for (const before of this.#tracks.values()) if (before.state === 'runs') before.state = 'done';
      this.#begin(pipeline).allBytes = bytes;
    },
    'files-merged': ({ pipeline, files, bytes }) => {
      this.#track(pipeline).bytes += bytes;
      this.#track(pipeline).files += files;
    },
    'entries-checked': ({ pipeline, bytes }) => {
      this.#track(pipeline).bytes += bytes;
      this.#track(pipeline).files++;
    },
    'inputs-planned': ({ bytes }) => {
      this.#begin(importTrack).allBytes = bytes ?? undefined;
    },
    'input-read': ({ input, bytes }) => {
      const track = this.#track(importTrack);
      track.bytes += bytes - (this.#inputBytes.get(input) ?? 0);
      track.current = input;
      this.#inputBytes.set(input, bytes);
    },
    'input-ended': ({ input }) => {
      this.#track(importTrack).files++;
      this.#inputBytes.delete(input);
    },
  };

  #track(name: string): Track {
    const track = this.#tracks.get(name) ?? new Track();
    this.#tracks.set(name, track);
    return track;
  }

  #begin(name: string): Track {
    const track = this.#track(name);
    track.state = 'runs';
    track.startedAt ??= this.#now;
    return track;
  }

  view(now: number): View {
    const rows = [...this.#tracks].map(([name, track]) => this.#row(name, track, now));
    return { command: this.#command, subject: this.#subject, elapsedMs: now - this.#startedAt, rows };
  }

  #row(name: string, track: Track, now: number): ViewRow {
    const nextTryMs = Math.max(0, track.nextTryAt - now);
    const common = { name, state: track.state, retries: [...track.retries], nextTryMs };
    if (track.allBytes !== undefined || track.bytes > 0) return { ...common, ...inBytes(track, now) };
    const bucket = track.operation === undefined ? undefined : this.#buckets.get(track.operation);
    return { ...common, ...inPages(track, bucket, now) };
  }
}

type Figures = Pick<ViewRow, 'share' | 'amount' | 'leftMs' | 'details'>;

function inPages(track: Track, bucket: Bucket | undefined, now: number): Figures {
  const { pages, pagesLeft, open, completeFrom } = track;
  const all = pagesLeft === undefined ? undefined : pages + pagesLeft;
  const isDone = track.state === 'done';
  const total = all === undefined || isDone ? '' : ` of ~${formatCount(all)}`;
  const events = Math.round(track.results.at(now));
  return {
    share: isDone ? 1 : all === undefined ? undefined : pages / Math.max(1, all),
    amount: total === '' ? formatCount(pages, 'page') : `${formatCount(pages)}${total} pages`,
    leftMs: leftMsOf(track, bucket, now),
    details: [
      ...(completeFrom === '' ? [] : [`complete from ${completeFrom}`]),
      `${formatCount(events)} events/s`,
      formatCount(open.size, 'slice'),
      ...(bucket === undefined ? [] : bucketTexts(bucket, now)),
    ],
  };
}

/** The number of tokens and the time to the next one, as two texts: the first is shown alone where both don't fit. */
function bucketTexts(bucket: Bucket, now: number): string[] {
  const tokens = Math.floor(tokensAt(bucket, now) + 1e-6);
  const wait = bucket.nextAt - now;
  const level = `${tokens}/${Math.round(bucket.burst)} tokens`;
  if (wait <= 0) return [level];
  return [level, `next in ${wait < 10_000 ? `${(Math.ceil(wait / 100) / 10).toFixed(1)} s` : formatSpan(wait)}`];
}

/**
 * Milliseconds to the last page: by the quota, less the tokens in the bucket, where a bucket is known; else by the
 * recent rate of pages.
 */
function leftMsOf({ pagesLeft, pageRate }: Track, bucket: Bucket | undefined, now: number): number | undefined {
  if (pagesLeft === undefined) return undefined;
  if (bucket !== undefined) {
    const waitMs = Math.max(0, bucket.nextAt - now);
    return waitMs + (Math.max(0, pagesLeft - tokensAt(bucket, now)) / bucket.rate) * 1000;
  }
  const rate = pageRate.at(now);
  return rate === 0 ? undefined : (pagesLeft / rate) * 1000;
}

function inBytes({ state, bytes, allBytes, files, current, startedAt = 0 }: Track, now: number): Figures {
  const share = state === 'done' ? 1 : allBytes === undefined ? undefined : bytes / Math.max(1, allBytes);
  const total = allBytes === undefined ? '' : ` of ${formatBytes(allBytes)}`;
  const elapsed = now - startedAt;
  return {
    share,
    amount: allBytes === 0 ? 'nothing to do' : `${formatBytes(bytes)}${total}`,
    leftMs: share === undefined || share < 0.02 ? undefined : (elapsed * (1 - share)) / share,
    details: [
      ...(files === 0 ? [] : [`${formatCount(files, 'file')} done`]),
      ...(current === '' ? [] : [printable(basename(current))]),
    ],
  };
}

/** Seconds over which a rate is averaged, so that a page every two seconds doesn't make it jump. */
const span = 20;

/** A count a second, averaged over the last seconds. */
class RecentRate {
  /** Counts by second since 1970. */
  readonly #counts = new Map<number, number>();
  #since: number | undefined;

  /** @param now milliseconds since 1970 */
  add(number: number, now: number): void {
    const second = Math.floor(now / 1000);
    this.#since ??= now;
    count(this.#counts, second, number);
    for (const old of this.#counts.keys()) if (old <= second - span) this.#counts.delete(old);
  }

  /** The rate a second; 0 where nothing was counted lately. */
  at(now: number): number {
    const first = Math.floor(now / 1000) - span;
    let sum = 0;
    for (const [second, count] of this.#counts) if (second > first) sum += count;
    const seconds = this.#since === undefined ? span : Math.min(span, (now - this.#since) / 1000);
    return sum / Math.max(1, seconds);
  }
}
