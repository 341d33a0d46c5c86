import { accountsCommand } from './commands/accounts.js';
import { backfillCommand } from './commands/backfill.js';
import { completionCommand } from './commands/completion.js';
import type { CommandDefinition } from './options/definition.js';
import { enqueueCommand } from './commands/enqueue.js';
import { forgetCommand } from './commands/forget.js';
import { importCommand } from './commands/import.js';
import { initCommand } from './commands/init.js';
import { compactCommand, rebuildCommand } from './commands/maintenance.js';
import { planCommand } from './commands/plan.js';
import { reportCommand } from './commands/report.js';
import { serveCommand } from './commands/serve.js';
import { sqlCommand } from './commands/sql.js';
import { statusCommand } from './commands/status.js';
import { syncCommand } from './commands/sync.js';
import { verifyCommand } from './commands/verify.js';
import { workerCommand } from './commands/worker.js';

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
  completionCommand,
];
