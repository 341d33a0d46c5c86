import type { EventHole } from '../lake/catalog/load-key.js';
import type { Lake } from '../lake/lake.js';
import { tooLargeText } from '../sources/finances/api-v0/event-pages.js';

/** What could not be read where its load key was read last, and what the lake lacks. */
export interface LoadHole {
  readonly pipeline: string;
  readonly loadKey: string;
  readonly hole: EventHole;
}

/** What could not be read of an account, as its load keys keep them. */
export function unreadEvents({ snapshot }: Lake, account: string): LoadHole[] {
  return [...snapshot.allKeysOf(account)].flatMap(({ pipeline, key, holes = [] }) =>
    holes.map((hole) => ({ pipeline, loadKey: key, hole })),
  );
}

/** `financial-events window/…: page 1, byte 120, request id …`. */
export function unreadText({ pipeline, loadKey, hole }: LoadHole): string {
  return `${pipeline} ${loadKey}: ${holeText(hole)}`;
}

/** The place of a hole, with numbers from 1. */
export function holeText(hole: EventHole): string {
  if ('refusedAfter' in hole) {
    return `${tooLargeText(hole.refusedAfter)}, \`backfill settlement-reports\` or \`--api both\` its lines`;
  }
  if ('file' in hole) return `line ${hole.line + 1} of ${hole.file}, byte ${hole.byte}`;
  const { page, byte, requestId = 'none' } = hole;
  return `page ${page + 1}, byte ${byte}, request id ${requestId}`;
}
