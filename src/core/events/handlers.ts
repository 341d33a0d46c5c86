import type { RunEvent } from './run-event.js';

type EventsByName = { readonly [E in RunEvent as E['event']]: E };

/** What to do about events, by their names; what isn't here is passed over. */
export type Handlers<R> = { readonly [Name in keyof EventsByName]?: (event: EventsByName[Name]) => R };

/** What the event's handler gives; undefined where it has none. */
export function handled<R, Name extends keyof EventsByName>(
  handlers: Handlers<R>,
  event: EventsByName[Name] & { readonly event: Name },
): R | undefined {
  return handlers[event.event]?.(event);
}
