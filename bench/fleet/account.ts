import { runSettings } from '../../src/app/configuration/setting-definitions.js';
import { lookBackDays } from '../../src/app/load/look-back.js';
import { dayMs, dayStart } from '../../src/core/windows.js';
import { backlogOf, isDone, pageSize, type Backlog, type Backlogs } from './backlog.js';
import { Chance } from './chance.js';
import type { Bucket } from './reading.js';
import type { Scenario } from './scenario.js';

/** A seller whose events come evenly. Instants are milliseconds since 1970. */
export interface Account {
  readonly id: number;
  readonly name: string;
  readonly eventsPerDay: number;
  /** Marketplaces with a currency and so a settlement of their own. */
  readonly markets: number;
  readonly joinsAt: number;
  readonly isDenied: boolean;
  readonly buckets: Readonly<Record<keyof Backlogs, Bucket>>;
  /** What is left of the first backfill. */
  readonly backfill: Backlogs;
  /** Requests of it that a sync has taken over. */
  takenOver: number;
  /** Whether the days that a sync sees to are loaded. */
  isCurrent: boolean;
  /** Up to where a sync has loaded it. */
  coveredTo: number;
  /** When it was looked back so many days. */
  readonly lookedBack: Map<number, number>;
  /** The sync that has begun. */
  sync: SyncWork | undefined;
  /** When settlements that are too large were tried last. */
  triedLargeAt: number;
}

export interface SyncWork {
  /** Whether it reads again what is loaded: one that isn't done within a day begins anew then. */
  readonly isAgain: boolean;
  readonly backlogs: Backlogs;
  readonly end: number;
  readonly lookBack: number;
}

/** Days of a settlement, and its events beyond which the service refuses it, after as many pages. */
const settlementDays = 14;
const mostOfSettlement = 15_300;
/** Days after which a settlement that was refused is tried again. */
const patienceDays = 7;
/** Days that a sync sees to (`syncRange`), the newest of them day by day, the others by weeks (`eventWindows`). */
const syncedDays = 90;
const newestDays = 14;

/** Makes the accounts: which are how large, when they join, and which are refused. */
export function accountsOf({ seed, start, accounts, days, population, server }: Scenario): Account[] {
  return Array.from({ length: accounts }, (_, id): Account => {
    const chance = new Chance(seed, id);
    const { medianEvents, spread, mostEvents, historyDays, latecomers, denied } = population;
    const eventsPerDay = Math.min(mostEvents, chance.logNormal(medianEvents, spread)) / 30;
    const markets = 1 + (chance.happens(0.3) ? 1 : 0) + (chance.happens(0.1) ? 3 : 0);
    const joinsAt = chance.happens(latecomers) ? start + chance.share() * (days - 2) * dayMs : start;
    const bucket = (): Bucket => ({ tokenMs: 1000 / server.rate, burst: server.burst, fullAt: 0 });
    return {
      id,
      name: `account-${id}`,
      eventsPerDay,
      markets,
      joinsAt,
      isDenied: chance.happens(denied),
      buckets: { listing: bucket(), events: bucket(), groups: bucket() },
      backfill: backfillOf(eventsPerDay, markets, historyDays),
      takenOver: 0,
      isCurrent: false,
      coveredTo: joinsAt,
      lookedBack: new Map(),
      sync: undefined,
      triedLargeAt: joinsAt,
    };
  });
}

function backfillOf(eventsPerDay: number, markets: number, days: number): Backlogs {
  const months = Math.ceil(days / 30.4) + 1;
  const events = eventsPerDay * days;
  // A slice is a month, or as much of one as has 100 pages.
  const perMonth = Math.max(1, Math.ceil(events / months / (100 * pageSize)));
  const settlements = Math.ceil(days / settlementDays) * markets;
  return {
    listing: backlogOf(months, settlements),
    events: backlogOf(months * perMonth, events),
    groups: settlementsOf(settlements, (eventsPerDay * settlementDays) / markets),
  };
}

/** What reading so many settlements takes: one that is too large is read until it is refused. */
function settlementsOf(count: number, events: number): Backlog {
  return backlogOf(count, count * Math.min(events, mostOfSettlement));
}

/** What a sync reads that begins now; the one under way where it was not done. */
export function syncOf(account: Account, now: number): SyncWork {
  const { sync } = account;
  if (sync !== undefined && (!sync.isAgain || now - sync.end < dayMs)) return sync;
  const { eventsPerDay, markets, lookedBack } = account;
  if (!account.isCurrent && !isDone(account.backfill)) {
    account.isCurrent = true;
    return (account.sync = { isAgain: false, backlogs: newestOf(account), end: now, lookBack: 0 });
  }
  account.isCurrent = true;
  const back = lookBackDays(runSettings.lookBack.default, (days) => lookedBack.get(days), now);
  const from = Math.min(dayStart(account.coveredTo), dayStart(now - back * dayMs));
  const whole = Math.round((dayStart(now) - from) / dayMs);
  const today = ((now - dayStart(now)) / dayMs) * eventsPerDay;
  const days = backlogOf(whole, whole * eventsPerDay);
  // Day by day a window each, the last one short.
  const requests = days.requests + Math.max(1, Math.ceil(today / pageSize));
  const events = { ...days, requests, perPage: (whole * eventsPerDay + today) / requests };
  const dayOfMonth = new Date(now).getUTCDate();
  const open = ((now / dayMs + account.id) % settlementDays) * eventsPerDay;
  const isLarge = open / markets > mostOfSettlement;
  const isKnown = isLarge && now - account.triedLargeAt < patienceDays * dayMs;
  if (isLarge && !isKnown) account.triedLargeAt = now;
  // Once in its life a settlement is read after its end.
  const hasClosed = (now / dayMs + account.id) % settlementDays < 1;
  const wasLarge = (eventsPerDay * settlementDays) / markets > mostOfSettlement;
  const read = (isKnown ? 0 : markets) + (hasClosed && !wasLarge ? markets : 0);
  const groups = settlementsOf(read, (isKnown ? 0 : open / markets) + (hasClosed ? 1 : 0));
  const backlogs = { listing: backlogOf(dayOfMonth <= settlementDays ? 2 : 1, 2), events, groups };
  return (account.sync = { isAgain: true, backlogs, end: now, lookBack: back });
}

/** What a sync reads where the backfill isn't done: of the last 90 days what is missing, which the backfill then lacks. */
function newestOf(account: Account): Backlogs {
  const { backfill, eventsPerDay, markets } = account;
  const part = (backlog: Backlog, slices: number, events: number): Backlog => {
    const whole = Math.ceil(events / pageSize / backlog.perSlice) * backlog.perSlice;
    const taken = Math.min(backlog.requests, whole);
    backlog.requests -= taken;
    account.takenOver += taken;
    return taken === 0 ? backlogOf(0, 0) : backlogOf(slices, events);
  };
  const days = newestDays + Math.ceil((syncedDays - newestDays) / 7);
  const settlements = Math.ceil(syncedDays / settlementDays) * markets;
  return {
    listing: part(backfill.listing, 3, 3 * markets),
    events: part(backfill.events, days, syncedDays * eventsPerDay),
    groups: part(backfill.groups, settlements, syncedDays * eventsPerDay),
  };
}
