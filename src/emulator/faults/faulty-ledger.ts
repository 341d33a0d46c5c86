import type { Ledger } from '../../serve/served-apis.js';
import type { FaultInjector } from './fault-injector.js';
import { faultyEvents } from './faulty-events.js';
import { faultyReports } from './faulty-reports.js';
import { faultyTransactions } from './faulty-transactions.js';

/** A ledger with the live service's worst behaviour, API by API; an API without faults of its own stays as it is. */
export function faultyLedger(ledger: Ledger, injector: FaultInjector): Ledger {
  const events = faultyEvents(ledger, injector);
  const byTransaction = ledger.byTransaction && faultyTransactions(ledger.byTransaction, injector);
  const byReport = ledger.byReport && faultyReports(ledger.byReport, injector);
  const isFaulty = events !== ledger || byTransaction !== ledger.byTransaction || byReport !== ledger.byReport;
  return isFaulty ? { ...ledger, ...events, byTransaction, byReport } : ledger;
}
