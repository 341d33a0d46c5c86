import type { LoadHole } from '../lake/catalog/load-key.js';
import type { Lake } from '../lake/lake.js';
import type { UnreadEvent } from './results.js';
import { tooLargeText } from '../sources/finances/api-v0/event-pages.js';

/** What could not be read of an account where its load keys were read last, and what the lake lacks. */
export function unreadEvents({ snapshot }: Lake, account: string): UnreadEvent[] {
  return [...snapshot.allKeysOf(account)].flatMap(({ pipeline, key, holes = [] }) =>
    holes.map((hole) => ({ pipeline, load_key: key, ...holeObject(hole) })),
  );
}

function holeObject(hole: LoadHole): Omit<UnreadEvent, 'pipeline' | 'load_key'> {
  if ('refusedAfter' in hole) return { refused_after: hole.refusedAfter };
  if ('file' in hole) return hole;
  const { page, byte, requestId } = hole;
  return { page, byte, request_id: requestId ?? null };
}

/** `financial-events window/…: page 1, byte 120, request id …`. */
export function unreadText(event: UnreadEvent): string {
  return `${event.pipeline} ${event.load_key}: ${placeText(event)}`;
}

/** The place of what could not be read, with numbers from 1. */
export function placeText({ refused_after, file, line = 0, page = 0, byte = 0, request_id }: UnreadEvent): string {
  if (refused_after !== undefined) {
    return `${tooLargeText(refused_after)}, \`backfill settlement-reports\` or \`--api both\` its lines`;
  }
  if (file !== undefined)
    return `line ${line + 1} of ${file}, byte ${byte}; correct the line, and import the file again`;
  return `page ${page + 1}, byte ${byte}, request id ${request_id ?? 'none'}`;
}
