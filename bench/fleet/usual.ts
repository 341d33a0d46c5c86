import { turnRules } from '../../src/app/fleet/turns.js';
import type { Scenario } from './scenario.js';

const hour = 3_600_000;

/** What `make bench-fleet` simulates where nothing else is said. `docs/scale.md` says where the numbers come from. */
export const usualScenario: Scenario = {
  seed: 1,
  start: Date.UTC(2026, 0, 1),
  accounts: 10_000,
  days: 30,
  workers: 50,
  places: 16,
  turnMs: turnRules.turnMs,
  night: { startMs: hour, lengthMs: 4 * hour },
  population: {
    medianEvents: 300,
    spread: 2,
    mostEvents: 600_000,
    historyDays: 730,
    latecomers: 0.05,
    denied: 0.02,
  },
  server: { rate: 0.5, burst: 29.7, latency: 0.4, latencySpread: 0.3 },
  costs: { opening: 1, closing: 1, cpuTurn: 0.1, cpuSlice: 0.02, cpuRequest: 0.003, cpuEvent: 0.00013 },
  troubles: {
    daysBetweenDeaths: 2,
    restart: 30,
    lockMs: 30_000,
    checkMs: 30_000,
    faults: 0.002,
    keepsJournal: false,
    outages: [
      { at: 3 * 86_400 + 3600, lasts: 20 },
      { at: 12 * 86_400 + 3600, lasts: 300 },
    ],
  },
};
