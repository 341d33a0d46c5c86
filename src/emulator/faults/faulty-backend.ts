import type { Backend } from '../../serve/served-apis.js';
import type { FaultInjector } from './fault-injector.js';
import { faultyEvents } from './faulty-events.js';
import { faultyReports } from './faulty-reports.js';
import { faultyTransactions } from './faulty-transactions.js';

/** A backend with the live service's worst behaviour, API by API; an API without faults of its own stays as it is. */
export function faultyBackend(backend: Backend, injector: FaultInjector): Backend {
  const events = faultyEvents(backend, injector);
  const byTransaction = backend.byTransaction && faultyTransactions(backend.byTransaction, injector);
  const byReport = backend.byReport && faultyReports(backend.byReport, injector);
  const isFaulty = events !== backend || byTransaction !== backend.byTransaction || byReport !== backend.byReport;
  return isFaulty ? { ...backend, ...events, byTransaction, byReport } : backend;
}
