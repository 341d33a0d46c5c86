import { accountsCommand } from './accounts.js';
import { backfillCommand } from './backfill.js';
import { completionCommand } from './completion.js';
import type { CommandDefinition } from './definition.js';
import { enqueueCommand } from './enqueue.js';
import { forgetCommand } from './forget.js';
import { importCommand } from './import.js';
import { initCommand } from './init.js';
import { compactCommand, rebuildCommand } from './maintenance.js';
import { planCommand } from './plan.js';
import { reportCommand } from './report.js';
import { serveCommand } from './serve.js';
import { sqlCommand } from './sql.js';
import { statusCommand } from './status.js';
import { syncCommand } from './sync.js';
import { verifyCommand } from './verify.js';
import { workerCommand } from './worker.js';

/** In the order of the help. */
export const commands: readonly CommandDefinition[] = [
  backfillCommand,
  syncCommand,
  planCommand,
  statusCommand,
  verifyCommand,
  importCommand,
  sqlCommand,
  reportCommand,
  compactCommand,
  rebuildCommand,
  forgetCommand,
  accountsCommand,
  serveCommand,
  enqueueCommand,
  workerCommand,
  initCommand,
  completionCommand(() => commands),
];
