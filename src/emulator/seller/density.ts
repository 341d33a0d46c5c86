/** How the events are spread over the days: their ordinals count on from day to day, without a beginning. */
export interface Density {
  readonly perDay: number;
  /** The ordinal of the first event on a day (days since 1970-01-01) or after it. */
  firstOf: (day: number) => number;
  /** The day on which an event is. */
  dayOf: (ordinal: number) => number;
}

/**
 * Day d has floor(N(d+1)/days) - floor(N·d/days) events, so that any `days` whole days in a row have exactly N and no
 * day depends on where one begins to count. Products stay below 2^53 for up to 10^9 events.
 */
export function createDensity(events: number, days: number): Density {
  return {
    perDay: events / days,
    firstOf: (day) => Math.floor((events * day) / days),
    dayOf: (ordinal) => Math.ceil(((ordinal + 1) * days) / events) - 1,
  };
}
