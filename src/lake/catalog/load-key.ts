import type { Window } from '../../core/windows.js';

/** What identifies a load key: a pipeline has each once for an account. */
export interface LoadKeyId {
  readonly account: string;
  readonly pipeline: string;
  /** `window/START/END`, a settlement, an order. */
  readonly key: string;
}

/** What identifies a load key, without what else is known of it. */
export function loadKeyId({ account, pipeline, key }: LoadKeyId): LoadKeyId {
  return { account, pipeline, key };
}

/** What a pipeline has loaded for an account. A replaced key is deleted; it has no other state. */
export interface LoadKey extends LoadKeyId {
  /** Left out for a key that isn't a range of dates. */
  readonly window?: Window;
  /** When it was read last, in milliseconds since 1970. */
  readonly readAt: number;
  /** Since when its rows are in the lake, in milliseconds since 1970; spans where keys with different instants were joined. */
  readonly since: number | readonly LoadedSpan[];
  readonly origin: 'api' | 'import';
  /** Events that couldn't be read. */
  readonly holes?: readonly EventHole[];
}

/** A part of a window, and since when its rows are in the lake. */
export interface LoadedSpan extends Window {
  readonly since: number;
}

/** An event that couldn't be read: of a page of the API, or of a line of an imported file. Numbers from 0. */
export type EventHole =
  | { readonly page: number; readonly byte: number; readonly requestId?: string }
  | { readonly file: string; readonly line: number; readonly byte: number };

/** What a load key names: a window, the span of imported rows, or a group, an order or a settlement by its id. */
export type LoadKeyKind = 'window' | 'imported' | 'group' | 'order' | 'settlement';

/** A load key: `group/ID`. */
export function loadKeyFor(kind: LoadKeyKind, name: string): string {
  return `${kind}/${name}`;
}

/** What a load key of a kind names; undefined for one of another kind. */
export function nameIn(kind: LoadKeyKind, loadKey: string): string | undefined {
  return loadKey.startsWith(`${kind}/`) ? loadKey.slice(kind.length + 1) : undefined;
}

/** The span of a load key such as `window/START/END`; undefined for one of another kind, and for a malformed one. */
export function spanIn(kind: 'window' | 'imported', loadKey: string): Window | undefined {
  const [start = '', end = '', ...more] = nameIn(kind, loadKey)?.split('/') ?? [];
  const span = { start: Date.parse(start), end: Date.parse(end) };
  return more.length === 0 && span.start < span.end ? span : undefined;
}

/** A load key in a snapshot. */
export interface StoredLoadKey extends LoadKey {
  /** The version of the catalog that set it. */
  readonly version: number;
}
