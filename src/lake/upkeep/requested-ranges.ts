import { z } from 'zod';
import { isoInstant } from '../../core/numeric/instant.js';
import { covers, joined, within, type Window } from '../../core/windows.js';
import type { Store } from '../store/store.js';
import { NoteFolder, type StoredNote } from './note-folder.js';

const commands = ['backfill', 'sync'] as const;

/** A range of days that a run was requested to load, of one pipeline. */
export interface RequestedRange extends Window {
  readonly command: (typeof commands)[number];
  readonly pipeline: string;
  /** The settlement that is to be loaded of the range, where no day shows that it is missing. */
  readonly loadKey?: string | undefined;
  /** Requested by the present command line or configuration. A note doesn't have it. */
  readonly isConfigured?: true;
}

/** The note of one run's requested ranges for an account. */
export interface RequestedRangesNote extends Pick<StoredNote<unknown>, 'path' | 'name'> {
  readonly account: string;
  readonly ranges: readonly RequestedRange[];
}

/** Limits, above what a run writes. */
const mostRanges = 1000;
const mostNotes = 1000;

const latest = Date.UTC(2100, 0);
const instant = z
  .string()
  .max(30)
  .transform((text) => Date.parse(text))
  .refine((ms) => ms >= 0 && ms <= latest);
const noteSchema = z.object({
  /** Used to delete the note when the account is forgotten. */
  account: z.string().max(1000),
  ranges: z
    .array(
      z
        .object({
          command: z.enum(commands),
          pipeline: z.string().max(1000),
          from: instant,
          to: instant,
          loadKey: z.string().max(1000).optional(),
        })
        .refine(({ from, to }) => from < to),
    )
    .max(mostRanges),
});

/** One note for each account and run, `ACCOUNT.RUN`, so that concurrent runs don't overwrite each other's. */
export const requestedNotes = new NoteFolder('_requested', (value) => noteSchema.parse(value));

function accountOf(name: string): string | undefined {
  return /^(.+)\.[\w-]+$/.exec(name)?.[1];
}

/**
 * Ranges that runs were requested to load and have not loaded, because they were interrupted or are active. Invalid
 * notes are skipped.
 *
 * @param account undefined: every account
 * @param onUnreadable receives the path of an invalid note
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read
 */
export async function readRequestedRanges(
  store: Store,
  account: string | undefined,
  onUnreadable: (path: string) => void,
): Promise<RequestedRangesNote[]> {
  const notes: RequestedRangesNote[] = [];
  const isAsked = (name: string) => account === undefined || accountOf(name) === account;
  for await (const { path, name, note } of requestedNotes.all(store, isAsked)) {
    if (note === undefined || note.account !== accountOf(name)) onUnreadable(path);
    else {
      const ranges = note.ranges.map(({ from, to, ...others }) => ({ ...others, start: from, end: to }));
      notes.push({ path, name, account: note.account, ranges });
    }
    if (notes.length === mostNotes) break;
  }
  return notes;
}

/**
 * Notes the requested ranges of a run, merged with those of existing notes, which it replaces. Nothing is written where
 * the existing notes cover the ranges.
 *
 * @param id of the run
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written
 */
export async function noteRequestedRanges(
  store: Store,
  account: string,
  id: string,
  requested: readonly RequestedRange[],
  notes: readonly RequestedRangesNote[],
): Promise<void> {
  const noted = merged(notes.flatMap(({ ranges }) => ranges));
  const isNoted = (range: RequestedRange) => noted.some((other) => isAlike(other, range) && covers(other, range));
  if (requested.every(isNoted)) return;
  const all = merged([...noted, ...requested]);
  const isTooMuch = all.length > mostRanges;
  await writeRanges(store, { name: `${account}.${id}`, account, ranges: isTooMuch ? requested : all });
  if (!isTooMuch) for (const { path } of notes) await store.remove(path);
}

/**
 * Removes the ranges before an instant from the notes of an account.
 *
 * @param before milliseconds since 1970
 * @returns the paths of the notes that stay
 * @throws LedgerlakeError LAKE_STORE
 */
export async function forgetRequestedRanges(store: Store, account: string, before: number): Promise<string[]> {
  const kept: string[] = [];
  for (const { name, ranges } of await readRequestedRanges(store, account, () => undefined)) {
    const later = within({ start: before, end: Infinity }, ranges);
    if (later.length === 0) continue;
    kept.push(await writeRanges(store, { name, account, ranges: later }));
  }
  return kept;
}

function writeRanges(store: Store, { name, account, ranges }: Omit<RequestedRangesNote, 'path'>): Promise<string> {
  const noted = ranges.map(({ command, pipeline, loadKey, start, end }) => ({
    command,
    pipeline,
    loadKey,
    from: isoInstant(start),
    to: isoInstant(end),
  }));
  return requestedNotes.write(store, name, { account, ranges: noted });
}

function isAlike(one: RequestedRange, other: RequestedRange): boolean {
  return one.command === other.command && one.pipeline === other.pipeline && one.loadKey === other.loadKey;
}

/** The union of ranges for each command, pipeline and settlement. */
function merged(ranges: readonly RequestedRange[]): RequestedRange[] {
  const firsts = ranges.filter((range, at) => ranges.findIndex((other) => isAlike(other, range)) === at);
  return firsts.flatMap((first) =>
    joined(ranges.filter((range) => isAlike(range, first))).map((window) => ({ ...first, ...window })),
  );
}
