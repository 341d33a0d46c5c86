import { askCommand } from './commands/ask-command.js';
import { accountsCommand } from './commands/accounts-command.js';
import { backupCommand, restoreCommand } from './commands/backup-commands.js';
import { backfillCommand, planCommand, syncCommand } from './commands/load-commands.js';
import { changesCommand } from './commands/changes-command.js';
import { completionCommand } from './commands/completion-command.js';
import type { CommandDefinition } from './options/command-definition.js';
import { doctorCommand } from './commands/doctor-command.js';
import { enqueueCommand } from './commands/enqueue-command.js';
import { exportCommand } from './commands/export-command.js';
import { forgetCommand } from './commands/forget-command.js';
import { importCommand } from './commands/import-command.js';
import { initCommand } from './commands/init-command.js';
import { cacheCommand } from './commands/cache-command.js';
import { logCommand } from './commands/log-command.js';
import { compactCommand, rebuildCommand } from './commands/maintenance-commands.js';
import { mcpCommand } from './commands/mcp-command.js';
import { repairCommand } from './commands/repair-command.js';
import { reportCommand } from './commands/report-command.js';
import { serveCommand } from './commands/serve-command.js';
import { sqlCommand } from './commands/sql-command.js';
import { statusCommand } from './commands/status-command.js';
import { verifyCommand } from './commands/verify-command.js';
import { workerCommand } from './commands/worker-command.js';

/** The commands, in the order of the help. */
export const commands: readonly CommandDefinition[] = [
  backfillCommand,
  syncCommand,
  planCommand,
  statusCommand,
  doctorCommand,
  verifyCommand,
  logCommand,
  cacheCommand,
  importCommand,
  askCommand,
  sqlCommand,
  reportCommand,
  mcpCommand,
  compactCommand,
  rebuildCommand,
  repairCommand,
  backupCommand,
  restoreCommand,
  exportCommand,
  changesCommand,
  forgetCommand,
  accountsCommand,
  serveCommand,
  enqueueCommand,
  workerCommand,
  initCommand,
  completionCommand,
];
